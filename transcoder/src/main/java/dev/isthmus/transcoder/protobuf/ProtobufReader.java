package dev.isthmus.transcoder.protobuf;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.WireLimits;
import io.netty.buffer.ByteBuf;

/** Reads inference messages from the protobuf wire. */
public final class ProtobufReader {
    private static final int MODEL_NAME = 1;
    private static final int MODEL_VERSION = 2;

    private ProtobufReader() {}

    /**
     * Model name and version of an encoded ModelInferRequest, without decoding the rest.
     *
     * @param message borrowed
     * @throws dev.isthmus.oip.OipException when the message is malformed
     */
    public static ModelRef peekModel(ByteBuf message) {
        ProtoCursor cursor = ProtoCursor.of(message, ErrorCode.INVALID_ARGUMENT);
        String name = "";
        String version = "";
        while (cursor.more()) {
            switch (cursor.field()) {
                case MODEL_NAME -> name = cursor.string();
                case MODEL_VERSION -> version = cursor.string();
                default -> cursor.skip();
            }
        }
        return new ModelRef(name, version);
    }

    /**
     * Decodes a ModelInferRequest. Raw tensors become slices of the message, typed contents become raw tensors.
     *
     * @param message taken
     * @throws dev.isthmus.oip.OipException when the message breaks the protocol
     */
    public static InferRequest request(ByteBuf message, WireLimits limits) {
        MessageParser parser = new MessageParser(message, MessageParser.REQUEST, limits);
        try {
            parser.parse();
            return new InferRequest(
                    parser.model(), parser.id(), parser.parameters(), parser.takeTensors(), parser.outputs());
        } finally {
            parser.release();
            message.release();
        }
    }

    /**
     * Decodes a ModelInferResponse.
     *
     * @param message taken
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER when the message breaks the protocol
     */
    public static InferResponse response(ByteBuf message, WireLimits limits) {
        MessageParser parser = new MessageParser(message, MessageParser.RESPONSE, limits);
        try {
            parser.parse();
            return new InferResponse(parser.model(), parser.id(), parser.parameters(), parser.takeTensors());
        } finally {
            parser.release();
            message.release();
        }
    }
}
