package dev.isthmus.transcoder;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.protobuf.ProtobufSplice;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestSplice;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/**
 * Gives an encoded message another model's name, for targets whose model is not called as the client calls it. All else
 * stays as it is: it is neither decoded nor copied, save for parts so small that a copy is cheaper.
 */
public final class ModelSplice {
    private ModelSplice() {}

    /**
     * An encoded ModelInferRequest that asks for this model; without a version where {@code model} has none.
     *
     * @param message taken
     * @return owned by the caller; it keeps the message's memory
     * @throws dev.isthmus.oip.OipException INVALID_ARGUMENT when the message is malformed
     */
    public static ByteBuf request(ByteBufAllocator allocator, ByteBuf message, ModelRef model) {
        return ProtobufSplice.request(allocator, message, model);
    }

    /**
     * An encoded ModelInferResponse of this model; with the version that it had where {@code model} has none.
     *
     * @param message taken
     * @return owned by the caller; it keeps the message's memory
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER when the message is malformed
     */
    public static ByteBuf response(ByteBufAllocator allocator, ByteBuf message, ModelRef model) {
        return ProtobufSplice.response(allocator, message, model);
    }

    /**
     * An answer's body whose member {@code model_name} is this. A body that has no such member, or whose JSON breaks off or is
     * broken before it, is left as it is.
     *
     * @param body taken
     * @return owned by the caller; it keeps the body's memory
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER when the body is shorter than its JSON
     */
    public static RestBody json(ByteBufAllocator allocator, RestBody body, String modelName) {
        return RestSplice.modelName(allocator, body, modelName);
    }
}
