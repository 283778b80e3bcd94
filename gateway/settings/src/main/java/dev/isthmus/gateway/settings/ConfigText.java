package dev.isthmus.gateway.settings;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * The text of a configuration file.
 *
 * @param name in messages
 * @param folder base of the relative paths in it
 */
record ConfigText(String name, String text, Path folder) {
    /** Maximum size in bytes; SnakeYAML's own limit. */
    static final int MAX_BYTES = 3 << 20;

    private static final char BYTE_ORDER_MARK = '\uFEFF';

    /**
     * Reads a file.
     *
     * @throws ConfigException if it cannot be read, is too large or not UTF-8
     */
    static ConfigText of(Path file) throws ConfigException {
        byte[] content = content(file);
        CharBuffer text = CharBuffer.allocate(content.length);
        ByteBuffer bytes = ByteBuffer.wrap(content);
        CoderResult result = StandardCharsets.UTF_8.newDecoder().decode(bytes, text, true);
        String read = text.flip().toString();
        if (result.isError()) {
            String what = String.format("the byte 0x%02X is not UTF-8; save the file as UTF-8", bytes.get() & 0xFF);
            throw new ConfigException(problem(file.toString(), read, read.length(), what));
        }
        boolean marked = !read.isEmpty() && read.charAt(0) == BYTE_ORDER_MARK;
        return new ConfigText(file.toString(), marked ? read.substring(1) : read, ConfigLoader.folder(file));
    }

    private static byte[] content(Path file) throws ConfigException {
        byte[] content;
        try (InputStream in = Files.newInputStream(file)) {
            content = in.readNBytes(MAX_BYTES + 1);
        } catch (NoSuchFileException e) {
            throw problem(file, "cannot be read: no such file");
        } catch (AccessDeniedException e) {
            throw problem(file, "cannot be read: permission denied");
        } catch (IOException e) {
            throw problem(file, "cannot be read: " + e.getMessage());
        }
        if (content.length > MAX_BYTES) {
            throw problem(file, "the file is larger than the limit of " + Units.size(MAX_BYTES));
        }
        return content;
    }

    private static ConfigException problem(Path file, String what) {
        return new ConfigException(new ConfigProblem(file.toString(), 0, 0, what));
    }

    /** A problem after the first {@code characters} characters of a text. */
    static ConfigProblem problem(String name, String text, int characters, String what) {
        String before = text.substring(0, characters);
        long line = before.chars().filter(each -> each == '\n').count() + 1;
        return new ConfigProblem(name, (int) line, characters - before.lastIndexOf('\n'), what);
    }
}
