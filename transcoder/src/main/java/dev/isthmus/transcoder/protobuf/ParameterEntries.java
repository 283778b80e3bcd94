package dev.isthmus.transcoder.protobuf;

import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.message.WireLimits;
import java.util.LinkedHashMap;
import java.util.Map;

/** Reads the entries of protobuf's maps of parameters. */
final class ParameterEntries {
    private static final int KEY = 1 << 3 | ProtoCursor.BYTES;
    private static final int VALUE = 2 << 3 | ProtoCursor.BYTES;

    private static final int BOOL = 1 << 3 | ProtoCursor.VARINT;
    private static final int INT64 = 2 << 3 | ProtoCursor.VARINT;
    private static final int STRING = 3 << 3 | ProtoCursor.BYTES;
    private static final int DOUBLE = 4 << 3 | ProtoCursor.FIXED64;
    private static final int UINT64 = 5 << 3 | ProtoCursor.VARINT;

    /** An InferParameter in which no choice is set; known by its identity. */
    private static final Parameter UNSET = new Parameter.Text("");

    /** Of one message, its own and those of its tensors: each takes some 200 bytes of the heap, which nothing counts. */
    private static final int MOST = 1 << 16;

    private final TensorCheck check;
    private final WireLimits limits;
    private boolean wide;
    private int entries;

    ParameterEntries(TensorCheck message, WireLimits limits) {
        this.check = new TensorCheck(message.code(), "parameter");
        this.limits = limits;
    }

    /** Whether any value so far is a double or an unsigned 64-bit integer, which not every server knows. */
    boolean wide() {
        return wide;
    }

    /**
     * Reads one entry.
     *
     * @param before those before it; empty and immutable, or what this returned
     * @return those and the new one, which takes the place of one with its key
     * @throws OipException where it is malformed, or one more than are taken
     */
    Map<String, Parameter> read(ProtoCursor entry, Map<String, Parameter> before) {
        entries++;
        if (entries > MOST) {
            throw new OipException(check.code(), "parameters: at most " + MOST + " of one message are taken");
        }
        String key = "";
        Parameter value = UNSET;
        while (entry.more()) {
            switch (entry.tag()) {
                case KEY -> key = entry.string();
                case VALUE -> value = value(entry.nested(), value);
                // Parsers disagree: some take the entry, others put all of it among the unknown fields.
                default ->
                    throw new OipException(
                            check.code(),
                            "parameter '" + key + "': its entry has a field that is neither key nor value");
            }
        }
        check.requireName(key, limits);
        Map<String, Parameter> all = before.isEmpty() ? new LinkedHashMap<>() : before;
        all.put(key, value);
        if (all.size() > limits.parameters()) {
            throw new OipException(check.code(), "parameters: at most " + limits.parameters() + " are taken");
        }
        return all;
    }

    /** That each of these, when all entries are read, has a value. */
    void requireValues(Map<String, Parameter> parameters) {
        for (Map.Entry<String, Parameter> parameter : parameters.entrySet()) {
            if (parameter.getValue() == UNSET) {
                throw new OipException(check.code(), "parameter '" + parameter.getKey() + "' has no value");
            }
        }
    }

    /** The value, where one is set; what there was before it where not, for a message in two pieces is one. */
    private Parameter value(ProtoCursor cursor, Parameter before) {
        Parameter value = before;
        while (cursor.more()) {
            switch (cursor.tag()) {
                case BOOL -> value = new Parameter.Bool(cursor.varint() != 0);
                case INT64 -> value = new Parameter.Int64(cursor.varint());
                case STRING -> value = new Parameter.Text(cursor.string());
                case DOUBLE -> {
                    value = new Parameter.Float64(Double.longBitsToDouble(cursor.fixed64()));
                    wide = true;
                }
                case UINT64 -> {
                    value = new Parameter.Uint64(cursor.varint());
                    wide = true;
                }
                default -> cursor.skip();
            }
        }
        return value;
    }
}
