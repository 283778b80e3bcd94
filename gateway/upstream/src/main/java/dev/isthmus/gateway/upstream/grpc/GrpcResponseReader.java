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

    /** The response that replaces a failure reported by the server; null to fail. */
    default @Nullable ReplyMessage instead(ErrorCode serverFailure) {
        return null;
    }
}
