package dev.isthmus.transcoder.protobuf;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.buffer.MessageSplice;
import dev.isthmus.transcoder.message.StreamParameters;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.Map;

/**
 * Edits single fields of an encoded ModelInferRequest or ModelInferResponse. The rest is neither decoded nor copied,
 * except for parts so small that a copy is cheaper; results share the memory of the message.
 */
public final class ProtobufSplice {
    private ProtobufSplice() {}

    /**
     * The ModelInferResponse, marked as the last of a stream's responses to a request.
     *
     * @param message taken
     */
    public static ByteBuf last(ByteBufAllocator allocator, ByteBuf message) {
        MessageSplice splice = new MessageSplice(allocator);
        try {
            splice.part(message, message.readerIndex(), message.readableBytes());
            // The last entry of a key counts.
            ProtobufWriter.parameters(
                    splice.tail(),
                    ProtoCursor.field(MessageParser.PARAMETERS),
                    Map.of(StreamParameters.FINAL, new Parameter.Bool(true)),
                    true);
            return splice.take();
        } finally {
            splice.release();
            message.release();
        }
    }

    /**
     * The ModelInferResponse with another id.
     *
     * @param message taken
     * @param id may be empty
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER if the message is malformed
     */
    public static ByteBuf id(ByteBufAllocator allocator, ByteBuf message, String id) {
        MessageSplice splice = new MessageSplice(allocator);
        try {
            without(splice, message, ErrorCode.BAD_UPSTREAM_ANSWER, MessageParser.ID, MessageParser.ID);
            ProtobufWriter.string(splice.tail(), ProtoCursor.field(MessageParser.ID), id);
            return splice.take();
        } finally {
            splice.release();
            message.release();
        }
    }

    /**
     * The ModelInferRequest with another model; an empty version removes the field.
     *
     * @param message taken
     * @throws dev.isthmus.oip.OipException if the message is malformed
     */
    public static ByteBuf request(ByteBufAllocator allocator, ByteBuf message, ModelRef model) {
        try {
            version(message, ErrorCode.INVALID_ARGUMENT);
            return splice(allocator, message, model);
        } finally {
            message.release();
        }
    }

    /**
     * The ModelInferResponse with another model; an empty version leaves the version unchanged.
     *
     * @param message taken
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER if the message is malformed
     */
    public static ByteBuf response(ByteBufAllocator allocator, ByteBuf message, ModelRef model) {
        try {
            String version = version(message, ErrorCode.BAD_UPSTREAM_ANSWER);
            return splice(allocator, message, model.version().isEmpty() ? new ModelRef(model.name(), version) : model);
        } finally {
            message.release();
        }
    }

    /** The version in a message. Reads all fields, so that a malformed message fails here. */
    private static String version(ByteBuf message, ErrorCode code) {
        ProtoCursor cursor = ProtoCursor.of(message, code);
        String version = "";
        while (cursor.more()) {
            switch (cursor.tag()) {
                case MessageParser.MODEL_NAME -> cursor.string();
                case MessageParser.MODEL_VERSION -> version = cursor.string();
                default -> cursor.skip();
            }
        }
        return version;
    }

    /** The name and version, followed by all other fields in their order. */
    private static ByteBuf splice(ByteBufAllocator allocator, ByteBuf message, ModelRef model) {
        MessageSplice splice = new MessageSplice(allocator);
        try {
            ProtobufWriter.string(splice.tail(), ProtoCursor.field(MessageParser.MODEL_NAME), model.name());
            ProtobufWriter.string(splice.tail(), ProtoCursor.field(MessageParser.MODEL_VERSION), model.version());
            without(splice, message, ErrorCode.INTERNAL, MessageParser.MODEL_NAME, MessageParser.MODEL_VERSION);
            return splice.take();
        } finally {
            splice.release();
        }
    }

    /** Appends all fields but those with these tags, in their order. */
    private static void without(MessageSplice splice, ByteBuf message, ErrorCode code, int one, int other) {
        ProtoCursor cursor = ProtoCursor.of(message, code);
        int end = message.writerIndex();
        int kept = message.readerIndex();
        while (cursor.more()) {
            int start = end - cursor.remaining();
            int tag = cursor.tag();
            cursor.skip();
            if (tag == one || tag == other) {
                splice.part(message, kept, start - kept);
                kept = end - cursor.remaining();
            }
        }
        splice.part(message, kept, end - kept);
    }
}
