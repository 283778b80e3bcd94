package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.upstream.UpstreamRequest.InferenceRequest;
import dev.isthmus.oip.OipException;
import org.jspecify.annotations.Nullable;

/**
 * A stream of requests to one model of an upstream, whose responses arrive at the reply it was opened with. When a
 * stream that was not {@link #isReady()} becomes ready, the reply's {@code onReady()} is called.
 */
public interface UpstreamStream extends Subscription {

    /** A stream that failed before it began. */
    UpstreamStream ENDED = new UpstreamStream() {
        @Override
        public void send(Call call, InferenceRequest message, boolean emptyFinal) {
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
     * @param call the request as a call, with a context of its own
     * @param message taken
     * @param emptyFinal whether the last response must be marked as such, and a response without tensors must follow if
     *     there may be several; if the server does so itself, the message says so
     */
    void send(Call call, InferenceRequest message, boolean emptyFinal);

    /**
     * A request that was sent has ended.
     *
     * @param nanos until its first response, or its failure
     * @param failure null if it has not failed
     */
    default void ended(long nanos, @Nullable OipException failure) {}

    /** Ends the requests; the reply completes after the last response. */
    void end();

    /** Bytes of requests that are queued. */
    default long keptBytes() {
        return 0;
    }

    /** Whether requests are sent at once; requests sent while not ready are queued. */
    boolean isReady();
}
