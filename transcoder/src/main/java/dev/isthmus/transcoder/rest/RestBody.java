package dev.isthmus.transcoder.rest;

import dev.isthmus.transcoder.buffer.MessageSplice;
import io.netty.buffer.ByteBuf;

/**
 * The body of an inference request or answer on the REST wire. Owns one reference of {@code content}.
 *
 * @param jsonLength bytes of the JSON at the front, the value of {@code Inference-Header-Content-Length};
 *     {@link #ALL_JSON} when the whole body is JSON and the header is absent
 */
public record RestBody(ByteBuf content, long jsonLength) {

    public static final long ALL_JSON = -1;

    public boolean binary() {
        return jsonLength != ALL_JSON;
    }

    public void release() {
        content.release();
    }

    /** The same body once more, uncopied, with a reference of its own. */
    public RestBody retained() {
        return new RestBody(MessageSplice.retained(content), jsonLength);
    }
}
