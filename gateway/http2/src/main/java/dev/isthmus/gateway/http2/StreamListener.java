package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.net.TimeoutRule;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;

/**
 * Receives the events of one stream, on the event loop of its connection. A listener may call any method of its stream.
 * After {@link Http2Stream#reset} and after {@link #closed} it receives no more events.
 */
public interface StreamListener {

    /**
     * Header fields of a request, or of a final response (never a 1xx), optionally followed by trailers.
     *
     * @param headers read only, since other streams may share the object; may be kept
     * @param end whether the peer has ended the stream; always true for trailers
     */
    void headers(Http2Headers headers, boolean end);

    /**
     * A part of the body, not necessarily a whole frame. Its bytes are charged to the peer's window until
     * {@link Http2Stream#consumed} is called with their number.
     *
     * @param data taken by the listener; a slice of the buffer read from the socket; empty only with {@code end}
     * @param end whether the peer has ended the stream
     */
    void data(ByteBuf data, boolean end);

    /** What a stream is waiting for. */
    enum PeerWait {
        /** Nothing from its peer. */
        NOTHING,
        /** The next message: none is incomplete. */
        ANYTHING,
        /** The rest of a body or message that has begun. */
        BODY
    }

    /**
     * What the stream expects from its peer. Called periodically on open streams while nothing is queued for the peer.
     */
    default PeerWait awaited() {
        return PeerWait.NOTHING;
    }

    /** A timeout has expired. The listener may end the stream; otherwise it is reset. */
    default void peerTimedOut(TimeoutRule rule) {}

    /** {@link Http2Stream#isWritable} has returned false and would now return true. */
    default void writabilityChanged() {}

    /**
     * The stream has ended, in whatever way; called before {@link #closed}. If a server responds before the request has
     * ended: the whole response was written.
     */
    default void ended() {}

    /**
     * The stream has ended other than by END_STREAM from both sides or by our own {@link Http2Stream#reset}. Called at
     * most once. Not called if a server responded before the request ended: the rest of the request is dropped.
     */
    void closed(StreamEnd end);
}
