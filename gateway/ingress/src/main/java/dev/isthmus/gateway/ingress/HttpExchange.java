package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.http2.StreamListener.PeerWait;
import dev.isthmus.gateway.net.TimeoutRule;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;

/** One request and its response, the same over all versions of HTTP. One that is answered at once ignores what follows. */
interface HttpExchange {

    /** Begins the request whose head was received. */
    void open(RequestHead head, Channel channel);

    /** Rejects the request before it becomes a call. */
    void reject(OipException refusal);

    /**
     * Receives the next part of the body.
     *
     * @param chunk taken
     */
    void data(ByteBuf chunk);

    /** The body is complete. */
    default void end() {}

    /** Whether reading of the body is paused. */
    default boolean paused() {
        return false;
    }

    /** Whether the body should be contiguous in memory. */
    default boolean inOnePiece() {
        return false;
    }

    /** Whether the whole response was written, or never will be. */
    boolean responded();

    /**
     * What the request waits for.
     *
     * @param began whether any byte of its body was received
     */
    default PeerWait awaited(boolean began) {
        if (responded() || paused()) {
            return PeerWait.NOTHING;
        }
        return began ? PeerWait.BODY : PeerWait.ANYTHING;
    }

    /** The client timed out: cancels what is in flight, and responds. */
    default void timedOut(TimeoutRule rule) {}

    /** Fails the request, if it has no response yet: cancels what is in flight, and responds. */
    default void failCall(OipException failure) {}

    /** The connection accepts more of the response. */
    default void writabilityChanged() {}

    /** The response has been sent, or the connection has ended. */
    default void written() {}

    /** The client disconnected. */
    default void cancel() {}
}
