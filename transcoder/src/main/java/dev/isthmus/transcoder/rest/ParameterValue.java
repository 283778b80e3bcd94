package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.json.JsonToken;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.number.JsonNumbers;
import java.math.BigDecimal;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Converts JSON values to parameters. */
final class ParameterValue {
    private ParameterValue() {}

    /** The parameter for a token; null if there is none, as for numbers of more than 64 bits. */
    static @Nullable Parameter of(JsonToken token, JsonTokenizer json) {
        return switch (token) {
            case TRUE -> new Parameter.Bool(true);
            case FALSE -> new Parameter.Bool(false);
            case STRING -> new Parameter.Text(json.text());
            case NUMBER -> number(json);
            default -> null;
        };
    }

    /** Integers that fit into 64 bits, signed or unsigned, stay integers; other numbers are doubles. */
    private static @Nullable Parameter number(JsonTokenizer json) {
        JsonNumbers number = json.number();
        boolean integral = !number.hasFraction();
        if (integral && number.isInteger(true, 64)) {
            return new Parameter.Int64(number.integer());
        }
        if (integral && number.isInteger(false, 64)) {
            return new Parameter.Uint64(number.integer());
        }
        double value = number.toDouble();
        boolean wide =
                Double.isInfinite(value) || (integral && new BigDecimal(value).compareTo(number.toDecimal()) != 0);
        return wide ? null : new Parameter.Float64(value);
    }

    static boolean bool(String name, Parameter value) {
        if (value instanceof Parameter.Bool bool) {
            return bool.value();
        }
        throw OipException.invalid("parameter '" + name + "': a boolean is expected");
    }

    /** Whether the parameters declare BYTES elements as base64. */
    static boolean base64(Map<String, Parameter> parameters) {
        return parameters.get("content_type") instanceof Parameter.Text type
                && (type.value().equals("base64") || type.value().equals("b64"));
    }
}
