package dev.isthmus.gateway.upstream.local;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import dev.isthmus.gateway.call.AttemptTarget;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.gateway.net.EventLoops;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.local.LocalBackend;
import dev.isthmus.local.LocalStatistics;
import dev.isthmus.local.ModelStatus;
import dev.isthmus.local.ModelStatus.State;
import dev.isthmus.local.call.Cancellable;
import dev.isthmus.local.call.InferCallback;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
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
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/**
 * The local backend as an upstream: results arrive on its worker threads and are passed to the call's loop. Its state can
 * be read at any time, on any thread, and needs no probes.
 */
public final class LocalUpstream implements Upstream {
    public static final String NAME = "local";

    /** Triton's names for them. */
    private static final List<String> EXTENSIONS = List.of(
            Extension.REPOSITORY_INDEX.advertisedName(),
            Extension.MODEL_CONFIG.advertisedName(),
            Extension.MODEL_STATISTICS.advertisedName(),
            "binary_tensor_data",
            "classification");

    private static final long PAUSE_MILLIS = 100;
    private static final Duration MARGIN = Duration.ofSeconds(10);

    private final LocalBackend backend;
    private final Duration timeout;
    private final ReplaceableMeters meters;

    /**
     * @param backend taken: closed with this
     * @param timeout of a call without a deadline, and of a message of a stream without one
     */
    public LocalUpstream(LocalBackend backend, Duration timeout, MeterRegistry registry) {
        this.backend = backend;
        this.timeout = timeout;
        this.meters = new ReplaceableMeters(registry);
        gauge("queue", "Requests queued in the local backend", LocalBackend::queued);
        gauge(
                "queue.limit",
                "How many requests may be queued in the local backend (local.queue_size)",
                it -> it.settings().queueSize());
        gauge("threads.busy", "Threads of the local backend that run a model", LocalBackend::busyThreads);
        gauge(
                "threads.stuck",
                "Threads of the local backend whose run did not end although it was terminated",
                LocalBackend::stuckThreads);
        gauge(
                "loads.abandoned",
                "Loads of local models that did not end although they were terminated; each may use a core",
                LocalBackend::abandonedLoads);
        gauge("threads", "Threads of the local backend", it -> it.settings().threads());
    }

    private void gauge(String name, String what, ToDoubleFunction<LocalBackend> value) {
        meters.add(Gauge.builder("isthmus.local." + name, backend, value).description(what)::register);
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public List<String> extensions() {
        return EXTENSIONS;
    }

    @Override
    public ServerFeatures peer() {
        return ServerFeatures.LOCAL;
    }

    @Override
    public Subscription send(Call call, UpstreamRequest request, Reply reply) {
        switch (request) {
            case UpstreamRequest.InferenceRequest infer -> {
                return infer(call, infer.model(), (InferMessage.DecodedRequest) infer.message(), reply);
            }
            // In protobuf, except for a model's configuration, which is returned in the client's format.
            case UpstreamRequest.ManageRequest manage -> manage(call, manage.operation(), manage.body(), reply);
            case UpstreamRequest.ServerReadyRequest _ ->
                reply.only(new ReplyMessage.Ready(obstacle().isEmpty()));
            case UpstreamRequest.ServerMetadataRequest _ ->
                reply.only(new ReplyMessage.Server(new ServerMetadata("isthmus-local", "", extensions())));
            case UpstreamRequest.ModelReadyRequest(ModelRef model) -> modelReady(model, reply);
            case UpstreamRequest.ModelMetadataRequest(ModelRef model) ->
                backend.metadata(model)
                        .ifPresentOrElse(
                                metadata -> reply.only(new ReplyMessage.Model(metadata)),
                                () -> reply.fail(backend.notServed(model)));
            case UpstreamRequest.InferenceInParts parts ->
                Upstream.refuse(parts, unsupported("does not support requests in parts"), reply);
            case UpstreamRequest.GenerateRequest generate ->
                Upstream.refuse(
                        generate, unsupported("is not called over REST, which the generate extension requires"), reply);
            case UpstreamRequest.ModelNamesRequest names ->
                Upstream.refuse(names, unsupported("does not support listing its models"), reply);
        }
        return Subscription.NONE;
    }

    private Subscription infer(Call call, ModelRef model, InferMessage.DecodedRequest request, Reply reply) {
        TraceSpan span = span(call, model);
        RunReply outcome = new RunReply(call.loop(), span, reply);
        long deadlineNanos = call.hasDeadline() ? call.deadlineNanos() : System.nanoTime() + timeout.toNanos();
        Cancellable run = backend.infer(request.request().withModel(model), deadlineNanos, call.allocator(), outcome);
        return () -> {
            span.ended(ErrorCode.CANCELLED, "the gateway cancelled the execution");
            run.cancel();
        };
    }

    private static TraceSpan span(Call call, ModelRef model) {
        CallContext context = call.context();
        return context.span()
                .attempt(call.operation(), new AttemptTarget(NAME, "", Wire.DECODED, model, context.attempts() + 1));
    }

    /**
     * Waits until the models of the start are loaded or have failed, hardly longer than a load may take. Blocks.
     *
     * @param ending ends it early
     */
    public void awaitStart(BooleanSupplier ending) {
        await(backend.started(), backend.settings().loadTimeout().plus(MARGIN), ending);
    }

    /** Waits for the models of the start, for at most this time, unless the gateway ends. Blocks. */
    static void await(CompletableFuture<Void> started, Duration limit, BooleanSupplier ending) {
        long end = System.nanoTime() + limit.toNanos();
        while (!started.isDone() && !ending.getAsBoolean() && System.nanoTime() - end < 0) {
            started.copy()
                    .completeOnTimeout(null, PAUSE_MILLIS, TimeUnit.MILLISECONDS)
                    .join();
        }
    }

    /** Why it is not ready, for operators; empty if it is. */
    public String obstacle() {
        return backend.obstacle();
    }

    /** Whether the model is ready; false for an unknown model. */
    public boolean ready(ModelRef model) {
        return backend.ready(model);
    }

    private void modelReady(ModelRef model, Reply reply) {
        if (backend.models().contains(model.name())) {
            reply.only(new ReplyMessage.ModelReadyState(model, backend.ready(model)));
        } else {
            reply.fail(backend.notServed(model));
        }
    }

    @Override
    public void close() {
        meters.close();
        backend.close();
    }

    /** Passes an execution's result to the call's loop, unless the loop has terminated. */
    private record RunReply(Executor loop, TraceSpan span, Reply reply) implements InferCallback {

        @Override
        public void done(InferResponse response) {
            InferMessage message = new InferMessage.Response(response);
            boolean handedOver = EventLoops.handOver(loop, () -> {
                span.ended(null, "");
                reply.only(new ReplyMessage.Inference(message));
            });
            if (!handedOver) {
                message.release();
            }
        }

        @Override
        public void failed(OipException failure) {
            EventLoops.handOver(loop, () -> {
                span.ended(failure.code(), failure.message());
                reply.fail(failure);
            });
        }
    }

    /**
     * The management extensions, in protobuf: index, load, unload, statistics, configuration.
     *
     * @param body taken
     */
    private void manage(Call call, Operation.Manage manage, ByteBuf body, Reply reply) {
        byte[] content = ByteBufUtil.getBytes(body);
        body.release();
        try {
            manage(call, manage, content, reply);
        } catch (InvalidProtocolBufferException e) {
            reply.fail(new OipException(ErrorCode.INVALID_ARGUMENT, "the body is malformed: " + e.getMessage(), e));
        } catch (OipException e) {
            reply.fail(e);
        }
    }

    private void manage(Call call, Operation.Manage manage, byte[] content, Reply reply)
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
            EventLoops.handOver(loop, () -> reply.only(document(content)));
        }

        @Override
        public void failed(OipException failure) {
            EventLoops.handOver(loop, () -> reply.fail(failure));
        }
    }
}
