package dev.isthmus.transcoder;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.protobuf.ProtobufSplice;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestSplice;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/**
 * Replaces the model name in an encoded message, for targets that know the model by another name. The rest of the
 * message is neither decoded nor copied, except for parts so small that a copy is cheaper.
 */
public final class ModelSplice {
    private ModelSplice() {}

    /**
     * The encoded ModelInferRequest with this model and version; an empty version is removed.
     *
     * @param message taken
     * @return owned by the caller; shares the message's memory
     * @throws dev.isthmus.oip.OipException INVALID_ARGUMENT if the message is malformed
     */
    public static ByteBuf request(ByteBufAllocator allocator, ByteBuf message, ModelRef model) {
        return ProtobufSplice.request(allocator, message, model);
    }

    /**
     * The encoded ModelInferResponse with this model and version; an empty version leaves the version unchanged.
     *
     * @param message taken
     * @return owned by the caller; shares the message's memory
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER if the message is malformed
     */
    public static ByteBuf response(ByteBufAllocator allocator, ByteBuf message, ModelRef model) {
        return ProtobufSplice.response(allocator, message, model);
    }

    /**
     * The response body with this value of its member {@code model_name}. A body without such a member, or with
     * truncated or malformed JSON before it, is returned unchanged.
     *
     * @param body taken
     * @return owned by the caller; shares the body's memory
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER if the body is shorter than its announced JSON
     */
    public static RestBody json(ByteBufAllocator allocator, RestBody body, String modelName) {
        return RestSplice.modelName(allocator, body, modelName);
    }
}
