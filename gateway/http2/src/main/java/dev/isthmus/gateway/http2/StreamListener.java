package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.net.TimeoutRule;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;

/**
 * Hears what arrives on one stream; on the event loop of its connection. A listener may call anything of its stream
 * from here. After {@link Http2Stream#reset} and after {@link #closed} it hears nothing more.
 */
public interface StreamListener {

    /**
     * Header fields: of a request its head, then perhaps trailers; of a response its final head (never a 1xx), then
     * perhaps trailers.
     *
     * @param headers to be read only; other streams may be given the same object, so it may also be kept
     * @param end whether the peer sends nothing more; always true of trailers
     */
    void headers(Http2Headers headers, boolean end);

    /**
     * A part of the body, which need not be a whole frame. What it holds is not given back to the peer's window until
     * {@link Http2Stream#consumed} is called with its readable bytes.
     *
     * @param data taken by the listener; a slice of what was read from the socket; empty only with {@code end}
     * @param end whether the peer sends nothing more
     */
    void data(ByteBuf data, boolean end);

    /** What a stream waits for. */
    enum PeerWait {
        /** Nothing that its peer does. */
        NOTHING,
        /** That the peer sends something: nothing is half there. */
        ANYTHING,
        /** The rest of a body, or of a message, that has begun. */
        BODY
    }

    /** What of the peer is waited for; asked of open streams from time to time, while nothing is queued for the peer. */
    default PeerWait awaited() {
        return PeerWait.NOTHING;
    }

    /** The peer took too long. The listener may end the stream; otherwise it is reset. */
    default void peerTimedOut(TimeoutRule rule) {}

    /** {@link Http2Stream#isWritable} said no, and would say yes now. */
    default void writabilityChanged() {}

    /**
     * The stream is over, however it ended; before {@link #closed}. Of a server that has answered before the request ended:
     * all of the answer has been written.
     */
    default void ended() {}

    /**
     * The stream has ended otherwise than by the END_STREAM of both sides or by our own {@link Http2Stream#reset}.
     * Called once at most. A server that has answered before the request ended hears nothing: the rest of the request
     * is dropped.
     */
    void closed(StreamEnd end);
}
