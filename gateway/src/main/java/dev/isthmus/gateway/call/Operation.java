package dev.isthmus.gateway.call;

import dev.isthmus.oip.ModelRef;

/** What a client asks for. */
public sealed interface Operation {

    record ServerLive() implements Operation {}

    record ServerReady() implements Operation {}

    record ServerMetadata() implements Operation {}

    record ModelReady(ModelRef model) implements Operation {}

    record ModelMetadata(ModelRef model) implements Operation {}

    /** An inference whose request comes as the call's body. */
    record Infer(ModelRef model, BodyForm form) implements Operation {}
}
