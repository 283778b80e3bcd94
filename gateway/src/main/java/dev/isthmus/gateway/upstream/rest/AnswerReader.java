package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.call.Answer;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;

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
}
