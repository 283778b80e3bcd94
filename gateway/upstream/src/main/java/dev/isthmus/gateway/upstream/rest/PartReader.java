package dev.isthmus.gateway.upstream.rest;

import io.netty.buffer.ByteBuf;

/** Receives a response's body in parts and passes it to the reply. */
interface PartReader {

    /**
     * The next part.
     *
     * @param part taken
     * @throws dev.isthmus.oip.OipException if it violates the protocol
     */
    void part(ByteBuf part);

    /**
     * The body is complete.
     *
     * @throws dev.isthmus.oip.OipException if it is incomplete
     */
    default void end() {}

    /** Releases buffered data; called once, at the end or when the response is abandoned. */
    void release();
}
