package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.json.JsonTokenizer.Token;
import dev.isthmus.transcoder.number.JsonNumbers;
import java.math.BigDecimal;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Parameters as JSON values. */
final class ParameterValue {
    private ParameterValue() {}

    /** The parameter that a token stands for; null for tokens that stand for none, such as numbers of more than 64 bits. */
    static @Nullable Parameter of(Token token, JsonTokenizer json) {
        return switch (token) {
            case TRUE -> new Parameter.Bool(true);
            case FALSE -> new Parameter.Bool(false);
            case STRING -> new Parameter.Text(json.text());
            case NUMBER -> number(json);
            default -> null;
        };
    }

    /** Integers stay integers, of 64 bits with or without a sign; other numbers are doubles (R8). */
    private static @Nullable Parameter number(JsonTokenizer json) {
        JsonNumbers number = new JsonNumbers();
        number.read(json.window(), json.tokenStart(), json.tokenEnd());
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

    /** Whether parameters say that BYTES elements are base64 (R15). */
    static boolean base64(Map<String, Parameter> parameters) {
        return parameters.get("content_type") instanceof Parameter.Text type
                && (type.value().equals("base64") || type.value().equals("b64"));
    }
}
