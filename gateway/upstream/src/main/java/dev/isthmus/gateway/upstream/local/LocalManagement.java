package dev.isthmus.gateway.upstream.local;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.local.LocalBackend;
import dev.isthmus.local.LocalStatistics;
import dev.isthmus.local.ModelStatus;
import dev.isthmus.local.ModelStatus.State;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.InferStatistics;
import dev.isthmus.proto.ModelConfigResponse;
import dev.isthmus.proto.ModelStatistics;
import dev.isthmus.proto.ModelStatisticsResponse;
import dev.isthmus.proto.RepositoryIndexRequest;
import dev.isthmus.proto.RepositoryIndexResponse;
import dev.isthmus.proto.RepositoryModelLoadRequest;
import dev.isthmus.proto.RepositoryModelLoadResponse;
import dev.isthmus.proto.RepositoryModelUnloadResponse;
import dev.isthmus.proto.StatisticDuration;
import dev.isthmus.proto.config.ModelConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Function;

/** The management extensions of the local backend, in protobuf: index, load, unload, statistics, configuration. */
final class LocalManagement {
    /** Triton's names for them. */
    static final List<String> EXTENSIONS = List.of(
            Extension.REPOSITORY_INDEX.advertisedName(),
            Extension.MODEL_CONFIG.advertisedName(),
            Extension.MODEL_STATISTICS.advertisedName(),
            "binary_tensor_data",
            "classification");

    private final LocalBackend backend;

    LocalManagement(LocalBackend backend) {
        this.backend = backend;
    }

    /** @param body taken */
    void handle(Call call, Operation.Manage manage, ByteBuf body, Reply reply) {
        byte[] content = ByteBufUtil.getBytes(body);
        body.release();
        try {
            handle(call, manage, content, reply);
        } catch (InvalidProtocolBufferException e) {
            reply.fail(new OipException(ErrorCode.INVALID_ARGUMENT, "the body is malformed: " + e.getMessage(), e));
        } catch (OipException e) {
            reply.fail(e);
        }
    }

    private void handle(Call call, Operation.Manage manage, byte[] content, Reply reply)
            throws InvalidProtocolBufferException {
        String model = manage.model().name();
        switch (manage.extension()) {
            case REPOSITORY_INDEX -> {
                requireNoRepository(manage.resource());
                boolean ready = RepositoryIndexRequest.parseFrom(content).getReady();
                backend.index(new LocalReply<>(call.loop(), reply, models -> index(models, ready)));
            }
            case REPOSITORY_LOAD -> {
                requireNoRepository(manage.resource());
                requireNoParameters(RepositoryModelLoadRequest.parseFrom(content));
                backend.load(
                        model,
                        new LocalReply<>(call.loop(), reply, done -> RepositoryModelLoadResponse.getDefaultInstance()));
            }
            case REPOSITORY_UNLOAD -> {
                requireNoRepository(manage.resource());
                backend.unload(
                        model,
                        new LocalReply<>(
                                call.loop(), reply, done -> RepositoryModelUnloadResponse.getDefaultInstance()));
            }
            case MODEL_STATISTICS ->
                reply.only(document(statistics(manage.model()).toByteArray()));
            case MODEL_CONFIG -> reply.only(document(config(manage)));
            default ->
                throw new OipException(
                        ErrorCode.UNIMPLEMENTED, "the local backend does not serve " + manage.extension());
        }
    }

    private static void requireNoRepository(String name) {
        if (!name.isEmpty()) {
            throw OipException.invalid("the local backend has one repository, which has no name; got '" + name + "'");
        }
    }

    /** Triton accepts configurations and files with the request; here only the repository counts. */
    private static void requireNoParameters(RepositoryModelLoadRequest request) {
        if (request.getParametersCount() > 0) {
            throw OipException.invalid(
                    "the local backend loads what is in its repository; no parameters are expected, got "
                            + request.getParametersMap().keySet().stream()
                                    .sorted()
                                    .toList());
        }
    }

    private static ReplyMessage document(byte[] content) {
        return new ReplyMessage.Document(Unpooled.wrappedBuffer(content));
    }

    private static Message index(List<ModelStatus> models, boolean readyOnly) {
        RepositoryIndexResponse.Builder index = RepositoryIndexResponse.newBuilder();
        for (ModelStatus model : models) {
            if (!readyOnly || model.state() == State.READY) {
                index.addModelsBuilder()
                        .setName(model.name())
                        .setVersion(model.version())
                        .setState(model.state().name())
                        .setReason(model.reason());
            }
        }
        return index.build();
    }

    private Message statistics(ModelRef model) {
        List<LocalStatistics> statistics = backend.statistics(model);
        if (statistics.isEmpty() && !model.name().isEmpty()) {
            throw backend.notServed(model);
        }
        ModelStatisticsResponse.Builder response = ModelStatisticsResponse.newBuilder();
        for (LocalStatistics each : statistics) {
            response.addModelStats(ModelStatistics.newBuilder()
                    .setName(each.model().name())
                    .setVersion(each.model().version())
                    .setLastInference(each.lastMillis())
                    .setInferenceCount(each.inferences())
                    .setExecutionCount(each.executions())
                    .setInferenceStats(InferStatistics.newBuilder()
                            .setSuccess(duration(each.success()))
                            .setFail(duration(each.fail()))
                            .setQueue(duration(each.queue()))
                            .setComputeInfer(duration(each.compute()))));
        }
        return response.build();
    }

    private static StatisticDuration duration(LocalStatistics.Duration duration) {
        return StatisticDuration.newBuilder()
                .setCount(duration.count())
                .setNs(duration.nanos())
                .build();
    }

    private byte[] config(Operation.Manage manage) {
        ModelConfig config = backend.config(manage.model()).orElseThrow(() -> backend.notServed(manage.model()));
        ByteString encoded = config.toByteString();
        return ModelConfigResponse.newBuilder().setConfig(encoded).build().toByteArray();
    }

    /** Passes the backend's result to the call's loop, unless the loop has terminated. */
    private record LocalReply<T>(Executor loop, Reply reply, Function<T, Message> encoder)
            implements LocalBackend.Outcome<T> {

        @Override
        public void done(T value) {
            byte[] content = encoder.apply(value).toByteArray();
            handOver(() -> reply.only(document(content)));
        }

        @Override
        public void failed(OipException failure) {
            handOver(() -> reply.fail(failure));
        }

        private void handOver(Runnable task) {
            try {
                loop.execute(task);
            } catch (RejectedExecutionException closed) {
                // The loop has terminated, and the client's connection with it.
            }
        }
    }
}
