package dev.isthmus.transcoder.protobuf;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.transcoder.buffer.MessageSplice;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import org.jspecify.annotations.Nullable;

/**
 * Triton's ModelStreamInferResponse: a response, or an error message with a response that has only the request's id.
 * MLServer streams the bare ModelInferResponse under the same method name.
 */
public final class StreamEnvelope {
    private static final int ERROR_MESSAGE = 1 << 3 | ProtoCursor.BYTES;
    private static final int INFER_RESPONSE = 2 << 3 | ProtoCursor.BYTES;

    private StreamEnvelope() {}

    /**
     * The content of an envelope.
     *
     * @param error the error message; empty for a response
     * @param id the id of the failed request; read only with an error
     * @param response a ModelInferResponse, owned by the caller; null with an error
     */
    public record EnvelopeContent(
            String error, String id, @Nullable ByteBuf response) {}

    /**
     * Decodes an envelope.
     *
     * @param message taken
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER if it is malformed
     */
    public static EnvelopeContent open(ByteBuf message) {
        ByteBuf response = null;
        try {
            ProtoCursor cursor = ProtoCursor.of(message, ErrorCode.BAD_UPSTREAM_ANSWER);
            String error = "";
            while (cursor.more()) {
                switch (cursor.tag()) {
                    case ERROR_MESSAGE -> error = cursor.string();
                    case INFER_RESPONSE -> {
                        if (response != null) {
                            throw cursor.malformed("infer_response is given twice");
                        }
                        response = cursor.retainedBytes();
                    }
                    default -> cursor.skip();
                }
            }
            if (error.isEmpty()) {
                EnvelopeContent content = new EnvelopeContent(
                        "", "", response == null ? message.alloc().buffer(0) : response);
                response = null;
                return content;
            }
            return new EnvelopeContent(
                    error, response == null ? "" : StreamedResponse.of(response).id(), null);
        } finally {
            message.release();
            if (response != null) {
                response.release();
            }
        }
    }

    /**
     * Whether a message of an unknown server is an envelope rather than a bare ModelInferResponse: only the latter has
     * tensors or raw contents in fields 5 and 6.
     *
     * @param message borrowed
     */
    public static boolean isEnvelope(ByteBuf message) {
        ProtoCursor cursor = ProtoCursor.of(message, ErrorCode.BAD_UPSTREAM_ANSWER);
        while (cursor.more()) {
            if (ProtoCursor.field(cursor.tag()) > ProtoCursor.field(INFER_RESPONSE)) {
                return false;
            }
            cursor.skip();
        }
        return true;
    }

    /**
     * Wraps a response in an envelope.
     *
     * @param response a ModelInferResponse, taken
     */
    public static ByteBuf wrap(ByteBufAllocator allocator, ByteBuf response) {
        MessageSplice whole = new MessageSplice(allocator);
        try {
            ProtobufWriter.varint(whole.tail(), INFER_RESPONSE);
            ProtobufWriter.varint(whole.tail(), response.readableBytes());
            whole.part(response, response.readerIndex(), response.readableBytes());
            return whole.take();
        } finally {
            whole.release();
            response.release();
        }
    }

    /** An envelope with an error, which does not end the stream. */
    public static ByteBuf error(ByteBufAllocator allocator, String message, String id) {
        return ProtobufWriter.filled(allocator.buffer(), out -> {
            ProtobufWriter.text(out, ProtoCursor.field(ERROR_MESSAGE), message);
            ByteBuf response = ProtobufWriter.filled(
                    allocator.buffer(), only -> ProtobufWriter.string(only, ProtoCursor.field(MessageParser.ID), id));
            ProtobufWriter.message(out, ProtoCursor.field(INFER_RESPONSE), response);
        });
    }
}
