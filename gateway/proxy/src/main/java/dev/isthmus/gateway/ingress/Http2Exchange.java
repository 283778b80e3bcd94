package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.http2.StreamListener.PeerWait;
import dev.isthmus.gateway.net.TimeoutRule;
import io.netty.buffer.ByteBuf;

/** One HTTP/2 stream's request and response. */
interface Http2Exchange {

    /**
     * Takes the next part of the request.
     *
     * @param chunk taken
     */
    void data(ByteBuf chunk);

    /** Whether the client is to wait before it sends more. */
    default boolean paused() {
        return false;
    }

    /** What of the client is waited for. */
    PeerWait awaited();

    /** The client took too long: answers so, if nothing was answered. */
    void timedOut(TimeoutRule rule);

    /** The client has sent this many bytes, which the exchange lets it send again once it takes more. */
    default void withheld(int bytes) {}

    /** The stream takes more of the response. */
    void writabilityChanged();

    /** The client has sent everything. */
    void end();

    /** Nothing of the response waits any more: it has been written, or never will be. */
    void over();

    /** The stream is closed, by whomever; nothing can be written any more. Without effect after the response. */
    void cancel();
}
