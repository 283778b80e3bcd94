package dev.isthmus.transcoder.protobuf;

import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.message.WireLimits;
import java.util.LinkedHashMap;
import java.util.Map;

/** Reads the entries of protobuf parameter maps. */
final class ParameterEntries {
    static final int KEY = 1 << 3 | ProtoCursor.BYTES;
    static final int VALUE = 2 << 3 | ProtoCursor.BYTES;

    static final int BOOL = 1 << 3 | ProtoCursor.VARINT;
    private static final int INT64 = 2 << 3 | ProtoCursor.VARINT;
    private static final int STRING = 3 << 3 | ProtoCursor.BYTES;
    private static final int DOUBLE = 4 << 3 | ProtoCursor.FIXED64;
    private static final int UINT64 = 5 << 3 | ProtoCursor.VARINT;

    /** An InferParameter without a value; compared by identity. */
    private static final Parameter UNSET = new Parameter.Text("");

    /**
     * The maximum entries of one message including its tensors: each takes about 200 bytes of heap, which are not
     * counted.
     */
    private static final int MAX = 1 << 16;

    private final TensorCheck check;
    private final WireLimits limits;
    private boolean wide;
    private int entries;

    ParameterEntries(TensorCheck message, WireLimits limits) {
        this.check = new TensorCheck(message.code(), "parameter");
        this.limits = limits;
    }

    /** Whether any value so far is a double or uint64, which not every server supports. */
    boolean hasWide() {
        return wide;
    }

    /**
     * Reads the entry that is the next field of a message.
     *
     * @param before the previous entries; empty and immutable, or a result of this method
     * @return those and the new entry, which replaces one with the same key
     * @throws OipException if it is malformed, or exceeds a limit
     */
    Map<String, Parameter> readIn(ProtoCursor message, Map<String, Parameter> before) {
        ProtoCursor entry = message.nested();
        Map<String, Parameter> all = read(entry, before);
        message.read(entry);
        return all;
    }

    private Map<String, Parameter> read(ProtoCursor entry, Map<String, Parameter> before) {
        entries++;
        if (entries > MAX) {
            throw new OipException(check.code(), "parameters: at most " + MAX + " are accepted in one message");
        }
        String key = "";
        Parameter value = UNSET;
        for (int fields = 1; entry.more(); fields++) {
            entry.expect(2, fields);
            switch (entry.tag()) {
                case KEY -> key = entry.string();
                case VALUE -> {
                    ProtoCursor nested = entry.nested();
                    value = value(nested, value);
                    entry.read(nested);
                }
                // Parsers disagree: some accept the entry, others treat all of it as an unknown field.
                default ->
                    throw new OipException(
                            check.code(),
                            "parameter " + TensorCheck.shown(key)
                                    + ": its entry has a field that is neither key nor value");
            }
        }
        check.requireName(key, limits);
        Map<String, Parameter> all = before.isEmpty() ? new LinkedHashMap<>() : before;
        all.put(key, value);
        if (all.size() > limits.parameters()) {
            throw new OipException(check.code(), "parameters: at most " + limits.parameters() + " are accepted");
        }
        return all;
    }

    /** Requires, after all entries are read, that each parameter has a value. */
    void requireValues(Map<String, Parameter> parameters) {
        for (Map.Entry<String, Parameter> parameter : parameters.entrySet()) {
            if (parameter.getValue() == UNSET) {
                throw new OipException(check.code(), "parameter '" + parameter.getKey() + "' has no value");
            }
        }
    }

    /** The value if one is set, else {@code before}: protobuf merges a message field that occurs twice. */
    private Parameter value(ProtoCursor cursor, Parameter before) {
        Parameter value = before;
        for (int fields = 1; cursor.more(); fields++) {
            cursor.expect(1, fields);
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
                default -> cursor.skipUnexpected();
            }
        }
        return value;
    }
}
