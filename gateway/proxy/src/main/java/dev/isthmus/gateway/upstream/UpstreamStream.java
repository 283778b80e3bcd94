package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;

/**
 * A stream of requests to one model of an upstream, whose answers arrive at the reply it was opened with. The reply's
 * {@code readMore()} says that a stream which was not {@link #isReady()} is again.
 */
public interface UpstreamStream extends Subscription {

    /** A stream that has failed before it began. */
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
     * @param id of the request, for the report of its failure
     * @param emptyFinal whether the last answer is to be followed by one without tensors; where the server does it, it reads so
     *     in the message
     * @param message on the upstream's wire, taken
     */
    void send(ModelRef model, String id, boolean emptyFinal, InferMessage message);

    /** No more requests come; the reply ends when the last answer has come. */
    void end();

    /** Bytes of the requests that are kept. */
    default long keptBytes() {
        return 0;
    }

    /** Whether requests go out at once; those that are sent all the same are kept. */
    boolean isReady();
}
