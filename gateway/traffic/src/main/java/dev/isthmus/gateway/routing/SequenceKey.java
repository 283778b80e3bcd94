package dev.isthmus.gateway.routing;

import dev.isthmus.oip.Parameter;
import org.jspecify.annotations.Nullable;

/** The sequence that a request belongs to: the server keeps state from one of its requests to the next. */
record SequenceKey(String id, boolean start, boolean end) {
    private static final String ID = "sequence_id";

    /** The request's sequence; null if it belongs to none: ids of 0 and empty ids are none. */
    static @Nullable SequenceKey of(RequestAttributes attributes) {
        Parameter id = attributes.parameters().get(ID);
        if (id == null || !names(id)) {
            return null;
        }
        String text = attributes.parameter(ID);
        return text == null
                ? null
                : new SequenceKey(text, attributes.isTrue("sequence_start"), attributes.isTrue("sequence_end"));
    }

    private static boolean names(Parameter id) {
        return switch (id) {
            case Parameter.Int64 number -> number.value() != 0;
            case Parameter.Uint64 number -> number.value() != 0;
            case Parameter.Text text -> !text.value().isEmpty();
            case Parameter.Bool flag -> false;
            case Parameter.Float64 number -> false;
            case Parameter.Json json -> false;
        };
    }
}
