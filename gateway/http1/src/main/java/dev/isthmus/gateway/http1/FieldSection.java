package dev.isthmus.gateway.http1;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The header fields of one message (RFC 9110, 6.3), in the order received. They stay octets; a text is made each time
 * that one is asked for. Names are looked up in lower case.
 */
public final class FieldSection {
    /** Positions of a field: the start and the end of its name, and of its value. */
    static final int POSITIONS = 4;

    /** A number up to this one may have another digit. */
    private static final long MAX_PREFIX = Long.MAX_VALUE / 10 - 1;

    private final byte[] bytes;
    private final int[] positions;
    private final int size;

    FieldSection(byte[] bytes, int[] positions, int size) {
        this.bytes = bytes;
        this.positions = positions;
        this.size = size;
    }

    /** The number of fields. */
    public int size() {
        return size;
    }

    /** The name of a field, in lower case. */
    public String name(int field) {
        return FieldNames.lowerCase(bytes, positions[field * POSITIONS], positions[field * POSITIONS + 1]);
    }

    /** The value of a field, without the whitespace around it. */
    public String value(int field) {
        int from = positions[field * POSITIONS + 2];
        return new String(bytes, from, positions[field * POSITIONS + 3] - from, StandardCharsets.ISO_8859_1);
    }

    /** The first field of this name at or behind {@code from}; -1 if there is none. */
    int find(CharSequence name, int from) {
        for (int i = from; i < size; i++) {
            if (FieldNames.matches(bytes, positions[i * POSITIONS], positions[i * POSITIONS + 1], name)) {
                return i;
            }
        }
        return -1;
    }

    /** Whether there is a field of this name. */
    public boolean contains(CharSequence name) {
        return find(name, 0) >= 0;
    }

    /** The value of the first field of this name; null if there is none. */
    public @Nullable String get(CharSequence name) {
        int field = find(name, 0);
        return field < 0 ? null : value(field);
    }

    /** The values of all fields of this name. */
    public List<String> all(CharSequence name) {
        int field = find(name, 0);
        if (field < 0) {
            return List.of();
        }
        int next = find(name, field + 1);
        if (next < 0) {
            return List.of(value(field));
        }
        List<String> values = new ArrayList<>();
        values.add(value(field));
        for (; next >= 0; next = find(name, next + 1)) {
            values.add(value(next));
        }
        return values;
    }

    /** The fields whose names are wanted, in order; the values of several of one name are joined. Must not be changed. */
    public Map<String, String> joined(Predicate<String> wanted) {
        Map<String, String> found = Map.of();
        for (int i = 0; i < size; i++) {
            String name = name(i);
            if (wanted.test(name)) {
                found = found.isEmpty() ? new LinkedHashMap<>() : found;
                found.merge(name, value(i), (first, next) -> first + separator(name) + next);
            }
        }
        return found;
    }

    /** What joins the values of several fields of one name; over HTTP/2 a cookie may be several (RFC 9113, 8.2.3). */
    public static String separator(String name) {
        return name.equals("cookie") ? "; " : ",";
    }

    /** The value of a field as a number; -1 if it has other characters than digits, or is too large. */
    long number(int field) {
        int from = positions[field * POSITIONS + 2];
        int to = positions[field * POSITIONS + 3];
        long number = from < to ? 0 : -1;
        for (int i = from; i < to && number >= 0; i++) {
            int digit = bytes[i] - '0';
            number = digit < 0 || digit > 9 || number > MAX_PREFIX ? -1 : number * 10 + digit;
        }
        return number;
    }

    /** Whether a field of this name has this member in its list, in any case. */
    boolean lists(CharSequence name, String member) {
        for (int field = find(name, 0); field >= 0; field = find(name, field + 1)) {
            for (String each : value(field).split(",", -1)) {
                if (each.strip().equalsIgnoreCase(member)) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Whether the connection can carry another message behind this one (RFC 9112, 9.3). */
    boolean persistent(boolean http10) {
        if (!contains("connection")) {
            return !http10;
        }
        return !lists("connection", "close") && (!http10 || lists("connection", "keep-alive"));
    }

    /** Strings of frequent field names, so that reading one does not allocate. */
    static final class FieldNames {
        /** Interned, as constants are, so that most comparisons with one end with the reference. */
        static final String[] FREQUENT = Arrays.stream(("accept accept-encoding authorization baggage connection"
                                + " content-encoding content-length content-type cookie date expect forwarded"
                                + " grpc-timeout host inference-header-content-length isthmus-hops origin server te"
                                + " traceparent tracestate transfer-encoding user-agent via x-api-key x-forwarded-for"
                                + " x-forwarded-host x-forwarded-proto x-request-id x-request-timeout-ms")
                        .split(" "))
                .map(String::intern)
                .toArray(String[]::new);

        /** A power of two, so large that the names have a place each. */
        private static final int SIZE = 256;

        private static final @Nullable String[] TABLE = new @Nullable String[SIZE];

        static {
            for (String name : FREQUENT) {
                byte[] bytes = name.getBytes(StandardCharsets.US_ASCII);
                TABLE[place(bytes, 0, bytes.length)] = name;
            }
        }

        private FieldNames() {}

        /** The name in lower case. */
        static String lowerCase(byte[] bytes, int from, int to) {
            String frequent = TABLE[place(bytes, from, to)];
            if (frequent != null && matches(bytes, from, to, frequent)) {
                return frequent;
            }
            byte[] name = new byte[to - from];
            for (int i = 0; i < name.length; i++) {
                name[i] = OctetClasses.lowerCase(bytes[from + i]);
            }
            return new String(name, StandardCharsets.ISO_8859_1);
        }

        /** Whether these are the octets of a name, which is in lower case. */
        static boolean matches(byte[] bytes, int from, int to, CharSequence name) {
            if (to - from != name.length()) {
                return false;
            }
            for (int i = 0; i < to - from; i++) {
                if (OctetClasses.lowerCase(bytes[from + i]) != name.charAt(i)) {
                    return false;
                }
            }
            return true;
        }

        private static int place(byte[] bytes, int from, int to) {
            int ends = OctetClasses.lowerCase(bytes[from]) * 31 + OctetClasses.lowerCase(bytes[to - 1]);
            return (ends * 31 + OctetClasses.lowerCase(bytes[(from + to) / 2]) + (to - from) * 6) & (SIZE - 1);
        }
    }
}
