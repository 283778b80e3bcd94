package dev.isthmus.gateway.ingress;

import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;

/**
 * An HTTP response that is not yet on a version of HTTP. Owns its body.
 *
 * @param jsonLength as in {@link RestBody#jsonLength()}
 * @param allow the value of the header Allow
 */
record RestResponse(
        int status, ByteBuf body, long jsonLength, @Nullable String allow) {

    static RestResponse json(int status, byte[] json) {
        return new RestResponse(status, Unpooled.wrappedBuffer(json), RestBody.ALL_JSON, null);
    }

    static RestResponse inference(RestBody body) {
        return new RestResponse(200, body.content(), body.jsonLength(), null);
    }

    static RestResponse error(OipException failure) {
        String allow = switch (failure.code()) {
            case METHOD_NOT_ALLOWED -> failure.message().startsWith("method POST") ? "POST" : "GET";
            default -> null;
        };
        byte[] json = JsonAnswers.error(failure.message());
        return new RestResponse(failure.code().httpStatus(), Unpooled.wrappedBuffer(json), RestBody.ALL_JSON, allow);
    }

    String contentType() {
        return jsonLength == RestBody.ALL_JSON ? "application/json" : "application/octet-stream";
    }
}
