package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Reply;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;
import org.jspecify.annotations.Nullable;

/** Makes the answer of one operation. */
@FunctionalInterface
interface AnswerReader {

    /**
     * The answer that a complete response holds.
     *
     * @param body taken
     * @throws dev.isthmus.oip.OipException when the response is a failure, or is not the protocol's
     */
    Answer read(int status, HttpHeaders headers, ByteBuf body);

    /** Who takes the body of a response with this head part by part; null where it is read when it is complete. */
    default @Nullable PartReader parts(int status, HttpHeaders headers, Reply reply) {
        return null;
    }
}
