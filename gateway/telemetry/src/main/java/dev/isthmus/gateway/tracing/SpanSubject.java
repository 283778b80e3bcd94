package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.call.AttemptTarget;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.transcoder.message.Wire;
import io.opentelemetry.api.trace.SpanKind;

/** What a span describes. */
sealed interface SpanSubject {
    SpanSubject OF_CALL = new OfCall(SpanKind.SERVER);
    SpanSubject OF_MESSAGE = new OfCall(SpanKind.INTERNAL);

    SpanKind kind();

    /** A call of a client, or a message of one; its context describes it. */
    record OfCall(SpanKind kind) implements SpanSubject {}

    /** One attempt of a call or copy, at a server or in this process. */
    record OfAttempt(Operation operation, AttemptTarget target) implements SpanSubject {
        @Override
        public SpanKind kind() {
            return target.wire() == Wire.DECODED ? SpanKind.INTERNAL : SpanKind.CLIENT;
        }
    }

    /**
     * A call that is sent for several.
     *
     * @param calls how many
     */
    record OfJoined(int calls) implements SpanSubject {
        @Override
        public SpanKind kind() {
            return SpanKind.INTERNAL;
        }
    }

    /**
     * A copy of a call.
     *
     * @param shadow the shadow's label
     */
    record OfCopy(String shadow) implements SpanSubject {
        @Override
        public SpanKind kind() {
            return SpanKind.INTERNAL;
        }
    }
}
