package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import io.netty.buffer.ByteBufAllocator;

/** Writes inference requests and answers for the REST wire. */
public final class RestWriter {
    private RestWriter() {}

    /**
     * Writes a request for an upstream.
     *
     * @param request taken
     * @param binary whether the upstream knows the binary tensor data extension: inputs then go as binary data, and all
     *     outputs are asked for as binary data; otherwise everything is JSON
     * @throws dev.isthmus.oip.OipException when a value cannot be written in this form
     */
    public static RestBody request(ByteBufAllocator allocator, InferRequest request, boolean binary) {
        throw new UnsupportedOperationException("to be written");
    }

    /**
     * Writes an answer for a client.
     *
     * @param response taken
     * @throws dev.isthmus.oip.OipException when a value cannot be written in this form
     */
    public static RestBody response(ByteBufAllocator allocator, InferResponse response, OutputForms forms) {
        throw new UnsupportedOperationException("to be written");
    }
}
