package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.oip.Parameter;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The attributes of a request that routing may use, besides its model.
 *
 * @param headers all request headers
 * @param parameters of the request, not of its tensors
 * @param id of the request; empty if it has none
 */
public record RequestAttributes(HeaderFields headers, Map<String, Parameter> parameters, String id) {
    private static final double EXACT = 0x1p53;

    public static final RequestAttributes NONE = new RequestAttributes(HeaderFields.NONE, Map.of(), "");

    /** The protocol's {@code priority}: 1 is the highest, 0 none in particular, also for what is no such number. */
    public long priority() {
        long priority = switch (parameters.get("priority")) {
            case Parameter.Int64 number -> number.value();
            case Parameter.Uint64 number -> number.value() < 0 ? Long.MAX_VALUE : number.value();
            case null, default -> 0;
        };
        return Math.max(0, priority);
    }

    @Nullable
    String header(String name) {
        return headers.value(name);
    }

    /**
     * A parameter as text: numbers in decimal, integral ones without a decimal point, whatever their type; null if it
     * is absent or of a type outside the protocol.
     */
    @Nullable
    String parameter(String name) {
        Parameter value = parameters.get(name);
        return value == null ? null : text(Parameter.unsigned(name, value));
    }

    boolean isTrue(String name) {
        return parameters.get(name) instanceof Parameter.Bool flag && flag.value();
    }

    private static @Nullable String text(Parameter value) {
        if (value instanceof Parameter.Json) {
            return null;
        }
        return value instanceof Parameter.Float64(double number) ? text(number) : value.text();
    }

    private static String text(double value) {
        return Math.abs(value) < EXACT && value == Math.rint(value)
                ? Long.toString((long) value)
                : Double.toString(value);
    }
}
