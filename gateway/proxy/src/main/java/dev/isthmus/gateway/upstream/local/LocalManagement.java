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
import dev.isthmus.local.ModelStatus.State;
import dev.isthmus.local.ModelStatus;
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

/** The management extensions that the local backend has, in protobuf: index, load, unload, statistics, configuration. */
final class LocalManagement {
    /** By the names that Triton gives them. */
    static final List<String> EXTENSIONS = List.of(
            Extension.REPOSITORY_INDEX.advertisedName(),
            Extension.MODEL_CONFIG.advertisedName(),
            Extension.MODEL_STATISTICS.advertisedName(),
            "binary_tensor_data");

    private final LocalBackend backend;

    LocalManagement(LocalBackend backend) {
        this.backend = backend;
    }

    /** @param body taken */
    void ask(Call call, Operation.Manage manage, ByteBuf body, Reply reply) {
        byte[] content = ByteBufUtil.getBytes(body);
        body.release();
        try {
            ask(call, manage, content, reply);
        } catch (InvalidProtocolBufferException e) {
            reply.fail(new OipException(ErrorCode.INVALID_ARGUMENT, "the body is malformed: " + e.getMessage(), e));
        } catch (OipException e) {
            reply.fail(e);
        }
    }

    private void ask(Call call, Operation.Manage manage, byte[] content, Reply reply)
            throws InvalidProtocolBufferException {
        String model = manage.model().name();
        switch (manage.extension()) {
            case REPOSITORY_INDEX -> {
                requireNoRepository(manage.resource());
                boolean ready = RepositoryIndexRequest.parseFrom(content).getReady();
                backend.index(new LocalReply<>(call.loop(), reply, lines -> index(lines, ready)));
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

    /** Triton takes configurations and files with the request; here what is in the repository counts. */
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

    private static Message index(List<ModelStatus> lines, boolean readyOnly) {
        RepositoryIndexResponse.Builder index = RepositoryIndexResponse.newBuilder();
        for (ModelStatus line : lines) {
            if (!readyOnly || line.state() == State.READY) {
                index.addModelsBuilder()
                        .setName(line.name())
                        .setVersion(line.version())
                        .setState(line.state().name())
                        .setReason(line.reason());
            }
        }
        return index.build();
    }

    private Message statistics(ModelRef model) {
        List<LocalStatistics> all = backend.statistics(model);
        if (all.isEmpty() && !model.name().isEmpty()) {
            throw backend.notFound(model);
        }
        ModelStatisticsResponse.Builder response = ModelStatisticsResponse.newBuilder();
        for (LocalStatistics each : all) {
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
        ModelConfig config = backend.config(manage.model()).orElseThrow(() -> backend.notFound(manage.model()));
        ByteString encoded = config.toByteString();
        return ModelConfigResponse.newBuilder().setConfig(encoded).build().toByteArray();
    }

    /** Hands what the backend tells to the call's loop; a loop that is gone takes nothing. */
    private record LocalReply<T>(Executor loop, Reply reply, Function<T, Message> answer)
            implements LocalBackend.Outcome<T> {

        @Override
        public void done(T value) {
            byte[] content = answer.apply(value).toByteArray();
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
                // The client's connection is gone with its loop: there is nobody to tell.
            }
        }
    }
}
