package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.http1.FieldSection;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/** Reads the response of one operation. */
@FunctionalInterface
interface RestResponseHandler {

    /**
     * Reads a complete response.
     *
     * @param body taken
     * @throws dev.isthmus.oip.OipException if the response is an error or violates the protocol
     */
    ReplyMessage read(int status, FieldSection headers, ByteBuf body);

    /**
     * The receiver of a large body that is still arriving; null to buffer the body. Called at most once.
     *
     * @param length {@link ReplyMessage.Part#UNKNOWN} if unknown
     * @throws dev.isthmus.oip.OipException if the headers violate the protocol
     */
    default @Nullable PartReader passed(int status, FieldSection headers, long length, Reply reply) {
        return null;
    }

    /** The receiver of a body that is streamed; null to read the body when it is complete. */
    default @Nullable PartReader parts(int status, FieldSection headers, Reply reply) {
        return null;
    }

    /** Receives a response's body in parts and passes it to the reply. */
    interface PartReader {

        /**
         * The next part.
         *
         * @param part taken
         * @throws dev.isthmus.oip.OipException if it violates the protocol
         */
        void part(ByteBuf part);

        /**
         * The body is complete.
         *
         * @throws dev.isthmus.oip.OipException if it is incomplete
         */
        default void end() {}

        /** Releases buffered data; called once, at the end or when the response is abandoned. */
        void release();
    }
}
