package dev.isthmus.gateway.upstream.grpc;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.oip.ErrorCode;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/** Reads the response message of one operation. */
@FunctionalInterface
interface GrpcResponseReader {

    /**
     * Reads a response message.
     *
     * @param message taken, unless this throws
     */
    ReplyMessage read(ByteBuf message) throws InvalidProtocolBufferException;

    /**
     * Says why a message is not the response to its request, as {@link
     * dev.isthmus.transcoder.message.ExpectedOrigin#violation}.
     *
     * @param start its first bytes, borrowed
     */
    default @Nullable String violation(ByteBuf start) {
        return null;
    }

    /** Whether a large message may be forwarded unread, in parts. */
    default boolean passesParts() {
        return false;
    }

    /** The response that replaces a failure reported by the server; null to fail. */
    default @Nullable ReplyMessage instead(ErrorCode serverFailure) {
        return null;
    }
}
