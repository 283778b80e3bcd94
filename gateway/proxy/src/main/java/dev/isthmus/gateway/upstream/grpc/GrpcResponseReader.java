package dev.isthmus.gateway.upstream.grpc;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.oip.ErrorCode;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/** Makes the answer of one operation. */
@FunctionalInterface
interface GrpcResponseReader {

    /**
     * The answer that a message holds.
     *
     * @param message taken; only when this returns
     */
    ReplyMessage read(ByteBuf message) throws InvalidProtocolBufferException;

    /** Whether a large message may also be passed on as it comes, unread. */
    default boolean passesParts() {
        return false;
    }

    /** The answer that a failure of the server stands for; null when it is a failure. */
    default @Nullable ReplyMessage instead(ErrorCode serverFailure) {
        return null;
    }
}
