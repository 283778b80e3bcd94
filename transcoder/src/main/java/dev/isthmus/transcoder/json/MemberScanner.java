package dev.isthmus.transcoder.json;

import io.netty.buffer.ByteBuf;
import io.netty.util.ByteProcessor;
import java.nio.charset.StandardCharsets;

/**
 * Finds the value of a top-level member of a JSON document in a buffer, which may be a composite. Does not check that
 * the document is well-formed.
 */
public final class MemberScanner {
    /** The longest escape of an ASCII character. */
    private static final int ESCAPE_BYTES = 6;

    private static final ByteProcessor TO_STRING_END = c -> c != '"' && c != '\\';
    private static final ByteProcessor TO_BRACKET = c -> c != '"' && c != '{' && c != '}' && c != '[' && c != ']';
    private static final ByteProcessor OVER_SPACE = MemberScanner::isSpace;
    private static final ByteProcessor TO_END_OF_WORD = c -> c != ',' && c != '}' && c != ']' && !isSpace(c);

    private final ByteBuf json;
    private final int last;
    private int at;
    private int start;

    /** Scans the bytes between these indices; the buffer is borrowed. */
    public MemberScanner(ByteBuf json, int from, int to) {
        this.json = json;
        this.at = from;
        this.last = to;
    }

    /** Finds the first member of this name, which must be ASCII that needs no escapes; returns whether there is one. */
    public boolean find(String name) {
        if (!passed('{')) {
            return false;
        }
        do {
            int key = seen('"') ? at + 1 : last;
            if (key == last || !string()) {
                return false;
            }
            boolean found = is(name, key, at - 1);
            if (!passed(':') || !value()) {
                return false;
            }
            if (found) {
                return true;
            }
        } while (passed(','));
        return false;
    }

    /** The start of the value found. */
    public int start() {
        return start;
    }

    /** The end of the value found, exclusive. */
    public int end() {
        return at;
    }

    /** The value found, if it is a string; otherwise empty. */
    public String text() {
        if (json.getByte(start) != '"') {
            return "";
        }
        return unescaped(start + 1, at - 1);
    }

    /** The text between these indices; empty if it has a malformed escape. */
    private String unescaped(int from, int to) {
        String text = json.toString(from, to - from, StandardCharsets.UTF_8);
        if (text.indexOf('\\') < 0) {
            return text;
        }
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        try {
            return StandardCharsets.UTF_8
                    .decode(JsonEscapes.unescape(bytes, 0, bytes.length))
                    .toString();
        } catch (JsonException e) {
            return "";
        }
    }

    private boolean is(String wanted, int from, int to) {
        int length = to - from;
        if (length != wanted.length()) {
            return length > wanted.length()
                    && length <= wanted.length() * ESCAPE_BYTES
                    && json.indexOf(from, to, (byte) '\\') >= 0
                    && unescaped(from, to).equals(wanted);
        }
        for (int i = 0; i < length; i++) {
            if (json.getByte(from + i) != wanted.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    /** Skips white space; returns whether this byte follows. */
    private boolean seen(char wanted) {
        int next = json.forEachByte(at, last - at, OVER_SPACE);
        at = next < 0 ? last : next;
        return at < last && json.getByte(at) == wanted;
    }

    private boolean passed(char wanted) {
        boolean seen = seen(wanted);
        at += seen ? 1 : 0;
        return seen;
    }

    /** Skips a value; returns whether it is complete. */
    private boolean value() {
        boolean string = seen('"');
        start = at;
        if (string) {
            return string();
        }
        if (at < last && (json.getByte(at) == '{' || json.getByte(at) == '[')) {
            return nested();
        }
        int next = json.forEachByte(at, last - at, TO_END_OF_WORD);
        at = next < 0 ? last : next;
        return next > start;
    }

    /** Skips a string from its opening quote; returns whether it is complete. */
    private boolean string() {
        at++;
        while (at < last) {
            int next = json.forEachByte(at, last - at, TO_STRING_END);
            if (next < 0) {
                return false;
            }
            boolean closed = json.getByte(next) == '"';
            at = next + (closed ? 1 : 2);
            if (closed) {
                return true;
            }
        }
        return false;
    }

    /** Skips an object or array from its opening bracket; returns whether it is complete. */
    private boolean nested() {
        int depth = 0;
        do {
            int next = json.forEachByte(at, last - at, TO_BRACKET);
            if (next < 0) {
                return false;
            }
            at = next;
            switch (json.getByte(next)) {
                case '"' -> {
                    if (!string()) {
                        return false;
                    }
                }
                case '{', '[' -> {
                    depth++;
                    at++;
                }
                default -> {
                    depth--;
                    at++;
                }
            }
        } while (depth > 0);
        return true;
    }

    private static boolean isSpace(byte c) {
        return c == ' ' || c == '\n' || c == '\r' || c == '\t';
    }
}
