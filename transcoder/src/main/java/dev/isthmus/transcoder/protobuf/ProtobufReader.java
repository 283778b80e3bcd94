package dev.isthmus.transcoder.protobuf;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.WireLimits;
import io.netty.buffer.ByteBuf;

/** Reads inference messages from the protobuf wire. */
public final class ProtobufReader {
    private ProtobufReader() {}

    /**
     * Model name and version of an encoded ModelInferRequest, without decoding the rest.
     *
     * @param message borrowed
     * @throws dev.isthmus.oip.OipException when the message is malformed
     */
    public static ModelRef peekModel(ByteBuf message) {
        throw new UnsupportedOperationException("to be written");
    }

    /**
     * Decodes a ModelInferRequest. Raw tensors become slices of the message, typed contents become raw tensors.
     *
     * @param message taken
     * @throws dev.isthmus.oip.OipException when the message breaks the protocol
     */
    public static InferRequest request(ByteBuf message, WireLimits limits) {
        throw new UnsupportedOperationException("to be written");
    }

    /**
     * Decodes a ModelInferResponse.
     *
     * @param message taken
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER when the message breaks the protocol
     */
    public static InferResponse response(ByteBuf message, WireLimits limits) {
        throw new UnsupportedOperationException("to be written");
    }
}
