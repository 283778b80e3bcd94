package dev.isthmus.gateway.payloadlog;

import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.net.Labelled;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * A request or response that waits to be encoded. Owns its message.
 *
 * @param call what is known of the call
 * @param model as the client names it
 * @param id of the event; the same for a request and its response
 * @param millis when the request or response was complete, in milliseconds since 1970
 * @param code why the call or the message of the stream failed; null for a request, and for a response if it did not
 *     fail
 * @param payload what the client sent or got
 * @param bytes size of the payload
 * @param held bytes that are reserved for it
 */
record PayloadEvent(
        CallFacts call,
        PayloadKind kind,
        ModelRef model,
        String id,
        long millis,
        @Nullable ErrorCode code,
        EventPayload payload,
        long bytes,
        long held) {

    /**
     * What all events of a call have in common.
     *
     * @param traceParent of the request; null if it has none
     * @param operation the attribute {@code operation}; empty for an inference
     * @param stream whether there may be any number of requests or responses
     */
    record CallFacts(ClientProtocol protocol, @Nullable String traceParent, String operation, boolean stream) {}

    enum PayloadKind {
        REQUEST("org.kubeflow.serving.inference.request"),
        RESPONSE("org.kubeflow.serving.inference.response");

        private final String type;

        PayloadKind(String type) {
            this.type = type;
        }

        /** The attribute {@code type}. */
        String type() {
            return type;
        }
    }

    sealed interface EventPayload {

        /** An encoded request or response. */
        record Message(InferMessage message) implements EventPayload {}

        /** A body that is no V2 message. */
        record OpaqueBody(ByteBuf bytes, OpaqueBodyKind kind) implements EventPayload {}

        /**
         * The text of an error.
         *
         * @param id of the message of a stream that failed; empty for none
         */
        record FailureText(String text, String id) implements EventPayload {}

        record Missing(MissingData reason) implements EventPayload {}
    }

    /** What a body is that is no V2 message. */
    enum OpaqueBodyKind {
        /** The data of the only tensor. */
        RAW,
        /** A request or response of the generate extension. */
        JSON,
        /** Server-sent events: a response of the generate extension. */
        EVENTS
    }

    /** Releases the message or body. */
    void release() {
        switch (payload) {
            case EventPayload.Message(InferMessage message) -> message.release();
            case EventPayload.OpaqueBody body -> body.bytes().release();
            case EventPayload.FailureText text -> {}
            case EventPayload.Missing missing -> {}
        }
    }

    enum MissingData implements Labelled {
        /** The body is larger than {@code max_size}. */
        SIZE,
        /** The body was not complete when the call ended. */
        INCOMPLETE,
        /** The body violates the protocol, or its tensors are in shared memory. */
        UNREADABLE,
        /** A raw binary request, which does not name its tensor, while tensors are left out by name. */
        RAW
    }
}
