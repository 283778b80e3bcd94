package dev.isthmus.gateway.logfile;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/** Where lines are written to: a file, which is renamed when it is full, or standard output. Used by one thread. */
public final class LogOutput implements AutoCloseable {
    private final @Nullable Path file;
    private final int rotateAt;
    private final int keep;
    private @Nullable OutputStream open;
    private long length;
    /** False for devices, pipes and symbolic links, which must not be renamed. */
    private boolean rotates;

    /**
     * Opens nothing before there is a line.
     *
     * @param file null for standard output
     * @param rotateAt size in bytes at which the file is renamed
     * @param keep number of renamed files that are kept
     */
    public LogOutput(@Nullable Path file, int rotateAt, int keep) {
        this.file = file;
        this.rotateAt = rotateAt;
        this.keep = keep;
    }

    /**
     * Writes complete lines: the first {@code count} bytes of an array.
     *
     * @throws IOException if they may not have been written; the next call opens the file again
     */
    public void write(byte[] lines, int count) throws IOException {
        if (file != null && rotates && length > 0 && length + count > rotateAt) {
            close();
            rotate(file);
        }
        try {
            OutputStream out = open == null ? open() : open;
            out.write(lines, 0, count);
            out.flush();
            length += count;
        } catch (IOException | OutOfMemoryError e) {
            // The JDK writes by way of direct memory.
            close();
            throw e;
        }
    }

    @SuppressWarnings("SystemOut") // the configured output
    private OutputStream open() throws IOException {
        if (file == null) {
            return System.out;
        }
        boolean cut = isCut(file);
        OutputStream out = Files.newOutputStream(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        open = out;
        rotates = Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS);
        length = Files.size(file);
        if (cut) {
            out.write('\n');
            length++;
        }
        return out;
    }

    /** Whether the last line is not complete, as after a full disk. */
    private static boolean isCut(Path file) throws IOException {
        if (!Files.isRegularFile(file) || Files.size(file) == 0) {
            return false;
        }
        try (SeekableByteChannel channel = Files.newByteChannel(file)) {
            ByteBuffer last = ByteBuffer.allocate(1);
            channel.position(channel.size() - 1).read(last);
            return last.get(0) != '\n';
        }
    }

    private void rotate(Path full) throws IOException {
        if (keep == 0) {
            Files.deleteIfExists(full);
        }
        for (int number = keep; number > 0; number--) {
            Path older = number == 1 ? full : numbered(full, number - 1);
            if (Files.exists(older)) {
                Files.move(older, numbered(full, number), StandardCopyOption.REPLACE_EXISTING);
            }
        }
        length = 0;
    }

    private static Path numbered(Path file, int number) {
        return file.resolveSibling(file.getFileName() + "." + number);
    }

    @Override
    public void close() throws IOException {
        OutputStream closing = open;
        open = null;
        if (closing != null) {
            closing.close();
        }
    }
}
