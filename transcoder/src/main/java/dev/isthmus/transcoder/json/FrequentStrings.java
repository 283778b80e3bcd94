package dev.isthmus.transcoder.json;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Names and datatypes of the protocol as they stand in nearly every message, so that reading one does not allocate. */
final class FrequentStrings {
    /** As literals, so that comparing them with one is cheap. */
    static final String[] ALL = Arrays.stream(("BF16 BOOL BYTES FP16 FP32 FP64 INT16 INT32 INT64 INT8"
                            + " UINT16 UINT32 UINT64 UINT8 binary_data binary_data_output binary_data_size content_type"
                            + " data datatype id inputs model_name model_version name outputs parameters shape")
                    .split(" "))
            .map(String::intern)
            .toArray(String[]::new);

    /** A power of two, so large that the strings have a place each. */
    private static final int SIZE = 128;

    private static final @Nullable String[] TABLE = new @Nullable String[SIZE];

    static {
        for (String string : ALL) {
            byte[] bytes = string.getBytes(StandardCharsets.US_ASCII);
            TABLE[place(bytes, 0, bytes.length)] = string;
        }
    }

    private FrequentStrings() {}

    /** The string of these bytes, if it is frequent; null for others. */
    static @Nullable String find(byte[] bytes, int from, int to) {
        if (from == to) {
            return null;
        }
        String frequent = TABLE[place(bytes, from, to)];
        if (frequent == null || frequent.length() != to - from) {
            return null;
        }
        for (int i = from; i < to; i++) {
            if (bytes[i] != frequent.charAt(i - from)) {
                return null;
            }
        }
        return frequent;
    }

    private static int place(byte[] bytes, int from, int to) {
        return (bytes[from] + bytes[to - 1] * 3 + bytes[(from + to) / 2] * 7 + (to - from) * 7) & (SIZE - 1);
    }
}
