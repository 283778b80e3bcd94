package dev.isthmus.gateway.dispatch;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.gateway.call.Extension;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.proto.ModelConfigRequest;
import dev.isthmus.proto.ModelStatistics;
import dev.isthmus.proto.ModelStatisticsRequest;
import dev.isthmus.proto.ModelStatisticsResponse;
import dev.isthmus.proto.RepositoryModelLoadRequest;
import dev.isthmus.proto.RepositoryModelUnloadRequest;
import dev.isthmus.proto.TraceSettingRequest;

/** The names of models in protobuf messages of the management extensions, where an upstream knows a model by another. */
final class ManageNames {
    private ManageNames() {}

    /** The request for this model; one that names no model stays as it is. */
    static byte[] request(Extension extension, byte[] content, ModelRef model) throws InvalidProtocolBufferException {
        return switch (extension) {
            case MODEL_CONFIG ->
                ModelConfigRequest.parseFrom(content).toBuilder()
                        .setName(model.name())
                        .setVersion(model.version())
                        .build()
                        .toByteArray();
            case MODEL_STATISTICS ->
                ModelStatisticsRequest.parseFrom(content).toBuilder()
                        .setName(model.name())
                        .setVersion(model.version())
                        .build()
                        .toByteArray();
            case TRACE_SETTING ->
                TraceSettingRequest.parseFrom(content).toBuilder()
                        .setModelName(model.name())
                        .build()
                        .toByteArray();
            case REPOSITORY_LOAD ->
                RepositoryModelLoadRequest.parseFrom(content).toBuilder()
                        .setModelName(model.name())
                        .build()
                        .toByteArray();
            case REPOSITORY_UNLOAD ->
                RepositoryModelUnloadRequest.parseFrom(content).toBuilder()
                        .setModelName(model.name())
                        .build()
                        .toByteArray();
            case LOG_SETTINGS,
                    REPOSITORY_INDEX,
                    SYSTEM_SHARED_MEMORY_STATUS,
                    SYSTEM_SHARED_MEMORY_REGISTER,
                    SYSTEM_SHARED_MEMORY_UNREGISTER,
                    CUDA_SHARED_MEMORY_STATUS,
                    CUDA_SHARED_MEMORY_REGISTER,
                    CUDA_SHARED_MEMORY_UNREGISTER -> content;
        };
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
