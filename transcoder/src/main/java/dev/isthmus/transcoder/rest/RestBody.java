package dev.isthmus.transcoder.rest;

import dev.isthmus.transcoder.buffer.MessageSplice;
import io.netty.buffer.ByteBuf;

/**
 * The body of an inference request or response on the REST wire. Owns one reference to {@code content}.
 *
 * @param jsonLength the bytes of JSON at the front, which is the value of {@code Inference-Header-Content-Length};
 *     {@link #ALL_JSON} if the header is absent and the whole body is JSON
 */
public record RestBody(ByteBuf content, long jsonLength) {

    public static final long ALL_JSON = -1;

    public boolean binary() {
        return jsonLength != ALL_JSON;
    }

    public void release() {
        content.release();
    }

    /** A copy that shares the memory, with its own reference. */
    public RestBody retained() {
        return new RestBody(MessageSplice.retained(content), jsonLength);
    }
}
