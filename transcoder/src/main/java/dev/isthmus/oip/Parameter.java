package dev.isthmus.oip;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** The value of a request, tensor, response or metadata parameter. */
public sealed interface Parameter {

    /** A boolean. */
    record Bool(boolean value) implements Parameter {}

    /** An integer in the range of a signed 64-bit integer. */
    record Int64(long value) implements Parameter {}

    /** An integer above {@link Long#MAX_VALUE}; the bits of {@code value} are read as unsigned. */
    record Uint64(long value) implements Parameter {}

    /** A number that is no integer. */
    record Float64(double value) implements Parameter {}

    /** A string. */
    record Text(String value) implements Parameter {}

    /**
     * A value that the protocol does not have, for servers that take any: null, an array, an object, or a number of more than
     * 64 bits.
     *
     * @param text JSON
     */
    record Json(String text) implements Parameter {}

    /** An unmodifiable copy that keeps the order, so that what is passed on looks as it came. */
    static Map<String, Parameter> copyOf(Map<String, Parameter> parameters) {
        return parameters.isEmpty() ? Map.of() : Collections.unmodifiableMap(new LinkedHashMap<>(parameters));
    }
}
