package dev.isthmus.transcoder.protobuf;

import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.TensorCheck;
import dev.isthmus.transcoder.WireLimits;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads the entries of protobuf's maps of parameters. */
final class ParameterEntries {
    private final TensorCheck check;
    private final WireLimits limits;
    private boolean wide;

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
     * @return those and the new one
     */
    Map<String, Parameter> read(ProtoCursor entry, Map<String, Parameter> before) {
        String key = "";
        Parameter value = null;
        while (entry.more()) {
            switch (entry.field()) {
                case 1 -> key = entry.string();
                case 2 -> value = value(entry.nested());
                default -> entry.skip();
            }
        }
        if (value == null) {
            throw new OipException(check.code(), "parameter '" + key + "' has no value");
        }
        wide |= value instanceof Parameter.Float64 || value instanceof Parameter.Uint64;
        check.requireName(key, limits);
        Map<String, Parameter> all = before.isEmpty() ? new LinkedHashMap<>() : before;
        all.put(key, value);
        if (all.size() > limits.parameters()) {
            throw new OipException(check.code(), "parameters: at most " + limits.parameters() + " are taken");
        }
        return all;
    }

    static @Nullable Parameter value(ProtoCursor cursor) {
        Parameter value = null;
        while (cursor.more()) {
            int field = cursor.field();
            switch (field) {
                case 1 ->
                    value = new Parameter.Bool(cursor.expect(ProtoCursor.VARINT).varint() != 0);
                case 2 ->
                    value = new Parameter.Int64(
                            cursor.expect(ProtoCursor.VARINT).varint());
                case 3 -> value = new Parameter.Text(cursor.string());
                case 4 ->
                    value = new Parameter.Float64(Double.longBitsToDouble(
                            cursor.expect(ProtoCursor.FIXED64).fixed64()));
                case 5 ->
                    value = new Parameter.Uint64(
                            cursor.expect(ProtoCursor.VARINT).varint());
                default -> cursor.skip();
            }
        }
        return value;
    }
}
