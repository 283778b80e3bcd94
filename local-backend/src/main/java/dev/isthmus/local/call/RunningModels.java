package dev.isthmus.local.call;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * The models that this process runs or loads, in a file that says so after the process has crashed. Only a process of
 * its own for local models keeps it. Thread-safe.
 */
public final class RunningModels {
    /** More than there can be threads. */
    private static final int SLOTS = 2048;
    /** A length, and the names of a thread and a model; a file's name has at most 255 bytes. */
    private static final int SLOT_BYTES = 512;

    private static final int NONE = -1;
    private static final @Nullable RunningModels OF_THIS_PROCESS = in(ProcessFolder.ofThisProcess());

    private final MappedByteBuffer file;
    private final Queue<Integer> free = new ConcurrentLinkedQueue<>();

    /** A model that a thread runs or loads. */
    public record RunningModel(String thread, String model) {}

    private RunningModels(ProcessFolder folder) throws IOException {
        // Where the disk is full, this fails; a file without its blocks would fail each run that is noted in it.
        Files.write(folder.running(), new byte[SLOTS * SLOT_BYTES]);
        try (FileChannel channel =
                FileChannel.open(folder.running(), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            file = channel.map(FileChannel.MapMode.READ_WRITE, 0, (long) SLOTS * SLOT_BYTES);
        }
        for (int slot = 0; slot < SLOTS; slot++) {
            free.add(slot);
        }
    }

    /** In this folder; null without one, or if there is no place for it. */
    static @Nullable RunningModels in(@Nullable ProcessFolder folder) {
        try {
            return folder == null ? null : new RunningModels(folder);
        } catch (IOException e) {
            LoggerFactory.getLogger(RunningModels.class)
                    .error("after a crash it will not be known which models ran: the folder for temporary files", e);
            return null;
        }
    }

    /** This thread begins to run or load a model; returns what {@link #ended} expects. */
    public static int begun(String model) {
        return OF_THIS_PROCESS == null ? NONE : OF_THIS_PROCESS.begin(model);
    }

    /** The run or load has ended. */
    public static void ended(int slot) {
        if (OF_THIS_PROCESS != null && slot != NONE) {
            OF_THIS_PROCESS.end(slot);
        }
    }

    private int begin(String model) {
        Integer slot = free.poll();
        if (slot == null) {
            return NONE;
        }
        byte[] names = (Thread.currentThread().getName() + '\n' + model).getBytes(StandardCharsets.UTF_8);
        int length = Math.min(names.length, SLOT_BYTES - Integer.BYTES);
        int at = slot * SLOT_BYTES;
        file.put(at + Integer.BYTES, names, 0, length);
        file.putInt(at, length);
        return slot;
    }

    private void end(int slot) {
        file.putInt(slot * SLOT_BYTES, 0);
        free.add(slot);
    }

    /** What a process ran or loaded when it ended; empty if it has not begun. */
    public static List<RunningModel> at(ProcessFolder folder) throws IOException {
        List<RunningModel> running = new ArrayList<>();
        if (!Files.exists(folder.running())) {
            return running;
        }
        ByteBuffer all = ByteBuffer.wrap(Files.readAllBytes(folder.running()));
        for (int at = 0; at + SLOT_BYTES <= all.capacity(); at += SLOT_BYTES) {
            int length = all.getInt(at);
            if (length > 0) {
                String names = new String(all.array(), at + Integer.BYTES, length, StandardCharsets.UTF_8);
                int line = names.indexOf('\n');
                running.add(new RunningModel(names.substring(0, line), names.substring(line + 1)));
            }
        }
        return running;
    }
}
