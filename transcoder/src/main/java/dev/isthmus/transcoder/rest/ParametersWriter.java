package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.json.JsonWriter;
import io.netty.buffer.ByteBufUtil;
import java.util.Map;

/** Writes the member {@code parameters} of requests, responses and tensors. */
final class ParametersWriter {
    private ParametersWriter() {}

    /** Writes the parameters, if there are any. {@code flag}, if not empty, is added as true. */
    static void write(JsonWriter json, Map<String, Parameter> parameters, String flag) {
        if (!flag.isEmpty()) {
            write(json, parameters, flag, new Parameter.Bool(true));
        } else if (!parameters.isEmpty()) {
            json.key("parameters").open('{');
            parameters.forEach((name, value) -> parameter(json, name, value));
            json.close('}');
        }
    }

    /** Writes the parameters with one more, which replaces one of the same name. */
    static void write(JsonWriter json, Map<String, Parameter> parameters, String name, Parameter value) {
        json.key("parameters").open('{');
        parameters.forEach((other, its) -> {
            if (!other.equals(name)) {
                parameter(json, other, its);
            }
        });
        parameter(json, name, value);
        json.close('}');
    }

    private static void parameter(JsonWriter json, String name, Parameter value) {
        json.key(name);
        switch (Parameter.unsigned(name, value)) {
            case Parameter.Bool bool -> json.raw(Boolean.toString(bool.value()));
            case Parameter.Int64 int64 -> json.raw(Long.toString(int64.value()));
            case Parameter.Uint64 uint64 -> json.raw(Long.toUnsignedString(uint64.value()));
            case Parameter.Float64 float64 -> {
                String digits = Double.toString(float64.value());
                // JSON has no numbers for NaN and the infinities.
                if (Double.isFinite(float64.value())) {
                    json.raw(digits);
                } else {
                    json.text(digits);
                }
            }
            case Parameter.Text text -> json.text(text.value());
            case Parameter.Json any -> {
                json.item();
                ByteBufUtil.writeUtf8(json.out(), any.text());
            }
        }
    }
}
