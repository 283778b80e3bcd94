package dev.isthmus.local.translate;

import dev.isthmus.oip.Parameter;

/** Converts a request's parameters to DJL's properties, which are strings. */
final class TranslatorParameters {
    private TranslatorParameters() {}

    static String text(Parameter parameter) {
        return switch (parameter) {
            case Parameter.Bool bool -> Boolean.toString(bool.value());
            case Parameter.Int64 integer -> Long.toString(integer.value());
            case Parameter.Uint64 integer -> Long.toUnsignedString(integer.value());
            case Parameter.Float64 number -> Double.toString(number.value());
            case Parameter.Text text -> text.value();
            case Parameter.Json json -> json.text();
        };
    }
}
