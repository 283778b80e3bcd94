package dev.isthmus.gateway.upstream.local;

import dev.isthmus.gateway.call.AttemptTarget;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.gateway.upstream.InProcessServer;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.local.LocalBackend;
import dev.isthmus.local.call.Cancellable;
import dev.isthmus.local.call.InferCallback;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.BooleanSupplier;
import java.util.function.ToDoubleFunction;

/** The local backend as an upstream: results arrive on its worker threads and are passed to the call's loop. */
public final class LocalUpstream implements InProcessServer {
    /** The upstream's configured name. */
    public static final String NAME = "local";

    private static final Duration PAUSE = Duration.ofMillis(100);
    private static final Duration MARGIN = Duration.ofSeconds(10);

    private final LocalBackend backend;
    private final Duration timeout;
    private final LocalManagement management;
    private final LocalMeters meters;

    /**
     * @param backend taken: closed with this
     * @param timeout of a call without a deadline, and of a message of a stream without one
     */
    public LocalUpstream(LocalBackend backend, Duration timeout, MeterRegistry registry) {
        this.backend = backend;
        this.timeout = timeout;
        this.meters = new LocalMeters(registry, backend);
        this.management = new LocalManagement(backend);
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public List<String> extensions() {
        return LocalManagement.EXTENSIONS;
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
            case UpstreamRequest.ManageRequest manage ->
                management.handle(call, manage.operation(), manage.body(), reply);
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
        long end = System.nanoTime()
                + backend.settings().loadTimeout().plus(MARGIN).toNanos();
        try {
            boolean started = backend.awaitStart(Duration.ZERO);
            while (!started && !ending.getAsBoolean() && System.nanoTime() - end < 0) {
                started = backend.awaitStart(PAUSE);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public String obstacle() {
        return backend.obstacle();
    }

    @Override
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
            try {
                loop.execute(() -> {
                    span.ended(null, "");
                    reply.only(new ReplyMessage.Inference(message));
                });
            } catch (RejectedExecutionException closed) {
                message.release();
            }
        }

        @Override
        public void failed(OipException failure) {
            try {
                loop.execute(() -> {
                    span.ended(failure.code(), failure.message());
                    reply.fail(failure);
                });
            } catch (RejectedExecutionException closed) {
                // The loop has terminated, and the client's connection with it.
            }
        }
    }

    /** The meters of the local backend. */
    private static final class LocalMeters implements AutoCloseable {
        private final ReplaceableMeters meters;
        private final LocalBackend backend;

        LocalMeters(MeterRegistry registry, LocalBackend backend) {
            this.meters = new ReplaceableMeters(registry);
            this.backend = backend;
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
        public void close() {
            meters.close();
        }
    }
}
