package dev.isthmus.gateway.accesslog;

import dev.isthmus.transcoder.json.JsonWriter;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Writes lines of JSON objects into an array that grows as needed. Members whose value is null, empty or negative are
 * left out. Most of the work of a line is copying: names of members are encoded once ({@link Member}), texts without
 * special characters are copied as they are.
 */
final class LineWriter {
    private static final DateTimeFormatter SECOND =
            DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.").withZone(ZoneOffset.UTC);
    private static final byte[] HEX = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] NOTHING = {};
    private static final int MICROS_OF_MILLI = 1000;
    /** Characters of the largest number, with its sign. */
    private static final int MAX_DIGITS = 20;
    /** Bytes that one character of a text takes at most: as an escape. */
    private static final int MAX_ESCAPE = 6;

    private byte[] bytes;
    private int length;
    private boolean comma;
    private long second = Long.MIN_VALUE;
    private byte[] secondText = NOTHING;

    /** @param capacity of the first array, in bytes */
    LineWriter(int capacity) {
        bytes = new byte[capacity];
    }

    /** The name of a member, encoded. */
    static final class Member {
        private final byte[] encoded;

        Member(String name) {
            LineWriter out = new LineWriter(name.length() + 4);
            out.comma = true;
            out.separate(1);
            out.quoted(name);
            out.put(':');
            encoded = Arrays.copyOf(out.bytes, out.length);
        }
    }

    /**
     * A member whose value is often the same in many lines, such as a name in the configuration: it is encoded
     * once. Belongs to one writer.
     */
    static final class RepeatedText {
        private final Member member;
        private @Nullable String last;
        /** The member with the last value; empty until that has come twice. */
        private byte[] encoded = NOTHING;

        RepeatedText(String name) {
            member = new Member(name);
        }
    }

    void begin() {
        reserve(1);
        put('{');
        comma = false;
    }

    void end() {
        reserve(2);
        put('}');
        put('\n');
    }

    void beginObject(Member member) {
        name(member, 1);
        put('{');
        comma = false;
    }

    void endObject() {
        reserve(1);
        put('}');
        comma = true;
    }

    void text(Member member, @Nullable String value) {
        if (value != null && !value.isEmpty()) {
            name(member, 0);
            quoted(value);
        }
    }

    void text(RepeatedText repeated, @Nullable String value) {
        if (value == null || value.isEmpty()) {
            return;
        }
        if (!value.equals(repeated.last)) {
            repeated.last = value;
            repeated.encoded = NOTHING;
            text(repeated.member, value);
        } else if (repeated.encoded.length == 0 || !comma) {
            boolean separated = comma;
            int start = length;
            text(repeated.member, value);
            repeated.encoded = separated ? Arrays.copyOfRange(bytes, start, length) : NOTHING;
        } else {
            reserve(repeated.encoded.length);
            copy(repeated.encoded, repeated.encoded.length);
        }
    }

    void texts(Member member, List<String> values) {
        name(member, 1);
        put('[');
        comma = false;
        for (String each : values) {
            separate(1);
            quoted(each);
        }
        reserve(1);
        put(']');
        comma = true;
    }

    void number(Member member, long value) {
        if (value >= 0) {
            name(member, MAX_DIGITS);
            digits(value);
        }
    }

    /** Writes nanoseconds as milliseconds with three decimals. */
    void milliseconds(Member member, long nanos) {
        if (nanos >= 0) {
            long micros = nanos / 1000;
            name(member, MAX_DIGITS + 4);
            digits(micros / MICROS_OF_MILLI);
            put('.');
            thousandths((int) (micros % MICROS_OF_MILLI));
        }
    }

    /** Writes a time in milliseconds since 1970 as RFC 3339 has it, in UTC. */
    void time(Member member, long millis) {
        long now = Math.floorDiv(millis, 1000L);
        if (now != second) {
            second = now;
            secondText = SECOND.format(Instant.ofEpochSecond(now)).getBytes(StandardCharsets.US_ASCII);
        }
        name(member, secondText.length + 6);
        put('"');
        copy(secondText, secondText.length);
        thousandths(Math.floorMod(millis, 1000));
        put('Z');
        put('"');
    }

    /** Number of bytes written and not yet taken. */
    int length() {
        return length;
    }

    /**
     * Takes what was written, and goes on in another array.
     *
     * @param empty the next array
     * @return an array whose first {@link #length()} bytes, as they were before, are the lines
     */
    byte[] take(byte[] empty) {
        byte[] taken = bytes;
        bytes = empty;
        length = 0;
        return taken;
    }

    /** Writes a comma, if need be, and the name; makes room for so many further bytes. */
    private void name(Member member, int further) {
        byte[] encoded = member.encoded;
        reserve(encoded.length + further);
        int skipped = comma ? 0 : 1;
        System.arraycopy(encoded, skipped, bytes, length, encoded.length - skipped);
        length += encoded.length - skipped;
        comma = true;
    }

    private void separate(int further) {
        reserve(1 + further);
        if (comma) {
            put(',');
        }
        comma = true;
    }

    @SuppressWarnings("deprecation") // copies the low bytes of characters, which are all there is to ASCII
    private void quoted(String value) {
        int characters = value.length();
        reserve(characters + 2);
        put('"');
        if (JsonWriter.isPlain(value)) {
            value.getBytes(0, characters, bytes, length);
            length += characters;
        } else {
            escaped(value.getBytes(StandardCharsets.UTF_8));
        }
        reserve(1);
        put('"');
    }

    private void escaped(byte[] utf8) {
        reserve(utf8.length * MAX_ESCAPE);
        for (byte each : utf8) {
            switch (each) {
                case '"', '\\' -> escape(each);
                case '\n' -> escape('n');
                case '\r' -> escape('r');
                case '\t' -> escape('t');
                default -> {
                    if (each >= 0 && (each < ' ' || each == 0x7f)) {
                        escape('u');
                        put('0');
                        put('0');
                        put(HEX[each >> 4]);
                        put(HEX[each & 0xf]);
                    } else {
                        put(each);
                    }
                }
            }
        }
    }

    private void escape(int character) {
        put('\\');
        put(character);
    }

    private void digits(long value) {
        int count = 1;
        for (long rest = value; rest >= 10; rest /= 10) {
            count++;
        }
        long rest = value;
        for (int at = length + count - 1; at >= length; at--) {
            bytes[at] = (byte) ('0' + rest % 10);
            rest /= 10;
        }
        length += count;
    }

    private void thousandths(int value) {
        put('0' + value / 100);
        put('0' + value / 10 % 10);
        put('0' + value % 10);
    }

    private void copy(byte[] from, int count) {
        System.arraycopy(from, 0, bytes, length, count);
        length += count;
    }

    private void put(int character) {
        bytes[length++] = (byte) character;
    }

    private void reserve(int further) {
        if (bytes.length - length < further) {
            bytes = Arrays.copyOf(bytes, Math.max(bytes.length * 2, length + further));
        }
    }
}
