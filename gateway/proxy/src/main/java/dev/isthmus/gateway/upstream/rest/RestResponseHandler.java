package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;
import org.jspecify.annotations.Nullable;

/** Makes the answer of one operation. */
@FunctionalInterface
interface RestResponseHandler {

    /**
     * The answer that a complete response holds.
     *
     * @param body taken
     * @throws dev.isthmus.oip.OipException when the response is a failure, or is not the protocol's
     */
    ReplyMessage read(int status, HttpHeaders headers, ByteBuf body);

    /**
     * Who passes on the body of a response with this head, of which not all has come; null where it is gathered. Asked once, of
     * a body that is large.
     *
     * @param length {@link ReplyMessage.Part#UNKNOWN} where it is not known
     * @throws dev.isthmus.oip.OipException when the head is not the protocol's
     */
    default @Nullable PartReader passed(int status, HttpHeaders headers, long length, Reply reply) {
        return null;
    }

    /** Who takes the body of a response with this head part by part; null where it is read when it is complete. */
    default @Nullable PartReader parts(int status, HttpHeaders headers, Reply reply) {
        return null;
    }
}
