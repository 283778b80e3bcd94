package dev.isthmus.gateway.call;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;

/** One message of a reply. */
public sealed interface Answer {

    record Live(boolean live) implements Answer {}

    record Ready(boolean ready) implements Answer {}

    record ModelReady(ModelRef model, boolean ready) implements Answer {}

    record Server(dev.isthmus.oip.ServerMetadata metadata) implements Answer {}

    record Model(dev.isthmus.oip.ModelMetadata metadata) implements Answer {}

    /** An inference answer; who gets it owns it. */
    record Inference(InferMessage message) implements Answer {}

    /** Gives back the buffers of an answer that nobody will read. */
    default void release() {
        if (this instanceof Inference inference) {
            inference.message().release();
        }
    }
}
