package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.InferResponse;
import dev.isthmus.transcoder.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/** Reads an upstream's REST inference answer; as {@link RestRequestReader}, for the other direction. */
public final class RestResponseReader {

    public RestResponseReader(ByteBufAllocator allocator, long jsonLength, WireLimits limits) {
        throw new UnsupportedOperationException("to be written");
    }

    /** Takes the next part of the body (borrowed). Throws OipException BAD_UPSTREAM_ANSWER when it breaks the protocol. */
    public void feed(ByteBuf chunk) {
        throw new UnsupportedOperationException("to be written");
    }

    /** Ends the body; the response is owned by the caller. Throws as {@link #feed}. */
    public InferResponse finish() {
        throw new UnsupportedOperationException("to be written");
    }

    /** Gives back what is held; may be called at any time and more than once. */
    public void release() {
        throw new UnsupportedOperationException("to be written");
    }
}
