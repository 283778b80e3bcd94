package dev.isthmus.gateway.http1;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Strings of frequent field names, so that reading one does not allocate. */
final class FieldNames {
    static final String[] FREQUENT = {
        "accept",
        "accept-encoding",
        "authorization",
        "baggage",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "cookie",
        "date",
        "expect",
        "forwarded",
        "grpc-timeout",
        "host",
        "inference-header-content-length",
        "isthmus-hops",
        "origin",
        "server",
        "te",
        "traceparent",
        "tracestate",
        "transfer-encoding",
        "user-agent",
        "via",
        "x-api-key",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-proto",
        "x-request-id",
        "x-request-timeout-ms"
    };

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
