package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;

/**
 * A stream of requests to one model of an upstream, whose responses arrive at the reply it was opened with. When a
 * stream that was not {@link #isReady()} becomes ready, the reply's {@code onReady()} is called.
 */
public interface UpstreamStream extends Subscription {

    /** A stream that failed before it began. */
    UpstreamStream ENDED = new UpstreamStream() {
        @Override
        public void send(ModelRef model, String id, boolean emptyFinal, InferMessage message) {
            message.release();
        }

        @Override
        public void end() {}

        @Override
        public boolean isReady() {
            return true;
        }

        @Override
        public void cancel() {}
    };

    /**
     * Sends a request.
     *
     * @param id of the request, for reporting its failure
     * @param emptyFinal whether the last response must be marked as such, and a response without tensors must follow if
     *     there may be several; if the server does so itself, the message says so
     * @param message on the upstream's wire, taken
     */
    void send(ModelRef model, String id, boolean emptyFinal, InferMessage message);

    /** Ends the requests; the reply completes after the last response. */
    void end();

    /** Bytes of requests that are queued. */
    default long keptBytes() {
        return 0;
    }

    /** Whether requests are sent at once; requests sent while not ready are queued. */
    boolean isReady();
}
