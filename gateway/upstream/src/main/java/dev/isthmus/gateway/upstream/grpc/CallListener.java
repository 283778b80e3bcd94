package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;

/**
 * Receives the events of one call, on its event loop. Exactly one of {@link #ended} and {@link #failed} is the last
 * event.
 */
interface CallListener {

    /** The largest message that is received. */
    long maxMessageBytes();

    /** The stream was opened, or became writable again. */
    void becameWritable();

    /** The response headers. */
    void headers(Http2Headers headers);

    /**
     * The next message.
     *
     * @param message taken
     */
    void message(ByteBuf message);

    /**
     * Whether the next message, which is large, may be delivered in parts: {@link #opened} announces it, then its
     * {@link #part}s follow.
     */
    default boolean acceptsParts() {
        return false;
    }

    /** A message of this many bytes follows in parts. */
    default void opened(long length) {}

    /**
     * The next part of the current message.
     *
     * @param part taken
     */
    default void part(ByteBuf part) {
        part.release();
    }

    /** Whether it is ready for a message or a part; if not, {@link GrpcCall#resume()} continues delivery. */
    default boolean acceptsMessages() {
        return true;
    }

    /**
     * This many bytes of messages are buffered: a message is incomplete, or the listener is not ready.
     *
     * @throws OipException if there is no memory for them
     */
    default void gathered(long bytes) {}

    /** The server has ended the call, with success or failure. */
    void ended(ServerStatus status);

    /** The call ended without a status from the server. */
    void failed(OipException failure);
}
