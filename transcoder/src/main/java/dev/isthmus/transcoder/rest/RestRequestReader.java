package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/**
 * Reads a REST inference request in chunks as they arrive. Not thread-safe. After {@link #finish()}, {@link #release()} or
 * an exception it holds nothing any more.
 */
public final class RestRequestReader {

    /**
     * @param model from the URL
     * @param jsonLength as in {@link RestBody#jsonLength()}
     */
    public RestRequestReader(ByteBufAllocator allocator, ModelRef model, long jsonLength, WireLimits limits) {
        throw new UnsupportedOperationException("to be written");
    }

    /**
     * Takes the next part of the body.
     *
     * @param chunk borrowed
     * @throws dev.isthmus.oip.OipException when the body breaks the protocol
     */
    public void feed(ByteBuf chunk) {
        throw new UnsupportedOperationException("to be written");
    }

    /**
     * Ends the body.
     *
     * @return the request, owned by the caller
     * @throws dev.isthmus.oip.OipException when the body breaks the protocol or is not complete
     */
    public RestRequest finish() {
        throw new UnsupportedOperationException("to be written");
    }

    /** Gives back what is held; may be called at any time and more than once. */
    public void release() {
        throw new UnsupportedOperationException("to be written");
    }
}
