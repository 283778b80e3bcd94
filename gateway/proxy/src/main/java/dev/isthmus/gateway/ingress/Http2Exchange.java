package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.http2.StreamListener.PeerWait;
import dev.isthmus.gateway.net.TimeoutRule;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;

/** The request and response of one HTTP/2 stream. */
interface Http2Exchange {

    /**
     * Receives the next part of the request.
     *
     * @param chunk taken
     */
    void data(ByteBuf chunk);

    /** Whether reading of the request is paused. */
    default boolean paused() {
        return false;
    }

    /** What the stream waits for. */
    PeerWait awaited();

    /** The client timed out: responds with an error, if no response was sent. */
    void timedOut(TimeoutRule rule);

    /** Fails the request with this error, if it has not ended. */
    void failCall(OipException failure);

    /** Withholds the flow-control credit of this many bytes until the request is read again. */
    default void withheld(int bytes) {}

    /** The stream accepts more of the response. */
    void writabilityChanged();

    /** The request is complete. */
    void end();

    /** The response has been written, or never will be. */
    void responseEnded();

    /** The stream is closed by either side; nothing can be written any more. No effect after the response. */
    void cancel();
}
