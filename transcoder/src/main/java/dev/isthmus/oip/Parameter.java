package dev.isthmus.oip;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** The value of a request, tensor, response or metadata parameter. */
public sealed interface Parameter {

    record Bool(boolean value) implements Parameter {}

    /** An integer that fits into 64 bits signed. */
    record Int64(long value) implements Parameter {}

    /** An integer above {@link Long#MAX_VALUE}; the bits of {@code value} are read as unsigned. */
    record Uint64(long value) implements Parameter {}

    /** A number that is not an integer. */
    record Float64(double value) implements Parameter {}

    record Text(String value) implements Parameter {}

    /**
     * A value that the protocol does not define, for servers that accept any JSON: null, an array, an object, or a
     * number of more than 64 bits.
     *
     * @param text JSON
     */
    record Json(String text) implements Parameter {}

    /** The value as text. */
    default String text() {
        return switch (this) {
            case Bool bool -> Boolean.toString(bool.value());
            case Int64 integer -> Long.toString(integer.value());
            case Uint64 integer -> Long.toUnsignedString(integer.value());
            case Float64 number -> Double.toString(number.value());
            case Text text -> text.value();
            case Json json -> json.text();
        };
    }

    /**
     * The value of a request parameter in an InferParameter: ids of sequences and timeouts of 2^63 and more are the same
     * 64 bits as int64, the only integer that servers read there.
     */
    static Parameter signed(String name, Parameter value) {
        return value instanceof Uint64 number && isUnsigned(name) ? new Int64(number.value()) : value;
    }

    /** The same value in JSON, where these parameters are not negative. */
    static Parameter unsigned(String name, Parameter value) {
        return value instanceof Int64 number && number.value() < 0 && isUnsigned(name)
                ? new Uint64(number.value())
                : value;
    }

    private static boolean isUnsigned(String name) {
        return name.equals("sequence_id") || name.equals("timeout");
    }

    /** An unmodifiable copy in the same order, so that forwarded parameters keep the client's order. */
    static Map<String, Parameter> copyOf(Map<String, Parameter> parameters) {
        return parameters.isEmpty() ? Map.of() : Collections.unmodifiableMap(new LinkedHashMap<>(parameters));
    }
}
