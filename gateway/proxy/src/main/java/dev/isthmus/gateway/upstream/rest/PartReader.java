package dev.isthmus.gateway.upstream.rest;

import io.netty.buffer.ByteBuf;

/** Takes a response's body part by part and makes answers of it. */
interface PartReader {

    /**
     * The next part.
     *
     * @param part taken
     * @throws dev.isthmus.oip.OipException when it is not the protocol's
     */
    void part(ByteBuf part);

    /**
     * The last part has come.
     *
     * @throws dev.isthmus.oip.OipException when something is missing
     */
    default void end() {}

    /** Gives back what is held; called once, after the last part or when nobody waits any more. */
    void release();
}
