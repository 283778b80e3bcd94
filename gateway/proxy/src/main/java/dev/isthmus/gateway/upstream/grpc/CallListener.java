package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;

/** Hears of one call, on its event loop. Exactly one of {@link #ended} and {@link #failed} is the last that it hears. */
interface CallListener {

    /** There is a stream now, or it takes more messages again. */
    void becameWritable();

    /** The head of the answer. */
    void headers(Http2Headers headers);

    /**
     * The next message.
     *
     * @param message taken
     */
    void message(ByteBuf message);

    /** Whether the next message, which is large, may come in parts: {@link #opened} says so, then come its {@link #part}s. */
    default boolean takesParts() {
        return false;
    }

    /** A message of so many bytes comes in parts from here on. */
    default void opened(long length) {}

    /**
     * The next part of the message that is open.
     *
     * @param part taken
     */
    default void part(ByteBuf part) {
        part.release();
    }

    /** Whether it takes a message, or a part of one, now; where not, {@link GrpcCall#resume()} goes on. */
    default boolean takesMessages() {
        return true;
    }

    /**
     * Bytes of messages have come that it was not given yet, because none of them is complete or it takes none.
     *
     * @throws OipException where there is no memory for them
     */
    default void gathered(long bytes) {}

    /** The server has ended the call, well or not. */
    void ended(ServerStatus status);

    /** The call has ended without a word of the server. */
    void failed(OipException failure);
}
