package dev.isthmus.gateway.management;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.proto.ModelStatistics;
import dev.isthmus.proto.ModelStatisticsResponse;
import dev.isthmus.transcoder.MessageSplice;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.UncheckedIOException;

/** The names of models in protobuf messages of the management extensions, where an upstream knows a model by another. */
final class ManageNames {
    private ManageNames() {}

    /**
     * The request (borrowed) for this model, owned by the caller: the fields that name it follow the message once more, and
     * of several values the last one counts.
     */
    static ByteBuf request(Extension extension, ByteBuf content, ModelRef model) {
        return switch (extension) {
            case MODEL_CONFIG, MODEL_STATISTICS -> followed(content, field(1, model.name()), field(2, model.version()));
            case TRACE_SETTING, REPOSITORY_LOAD, REPOSITORY_UNLOAD -> followed(content, field(2, model.name()));
            case LOG_SETTINGS,
                    REPOSITORY_INDEX,
                    SYSTEM_SHARED_MEMORY_STATUS,
                    SYSTEM_SHARED_MEMORY_REGISTER,
                    SYSTEM_SHARED_MEMORY_UNREGISTER,
                    CUDA_SHARED_MEMORY_STATUS,
                    CUDA_SHARED_MEMORY_REGISTER,
                    CUDA_SHARED_MEMORY_UNREGISTER -> MessageSplice.retained(content);
        };
    }

    private static ByteBuf followed(ByteBuf content, byte[]... fields) {
        return content.alloc()
                .compositeBuffer(Integer.MAX_VALUE)
                .addFlattenedComponents(true, MessageSplice.retained(content))
                .addComponent(true, Unpooled.wrappedBuffer(fields));
    }

    private static byte[] field(int number, String text) {
        byte[] field = new byte[CodedOutputStream.computeStringSize(number, text)];
        try {
            CodedOutputStream.newInstance(field).writeString(number, text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return field;
    }

    /** The statistics of one model under the name that the client asked for. */
    static ModelStatisticsResponse statistics(ByteString content, String there, String client)
            throws InvalidProtocolBufferException {
        ModelStatisticsResponse.Builder answer =
                ModelStatisticsResponse.newBuilder().mergeFrom(content);
        for (ModelStatistics.Builder model : answer.getModelStatsBuilderList()) {
            if (model.getName().equals(there)) {
                model.setName(client);
            }
        }
        return answer.build();
    }
}
