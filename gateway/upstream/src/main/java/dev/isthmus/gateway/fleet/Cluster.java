package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.gateway.grpc.GrpcDeframer;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The servers of one configured upstream behind one interface: a call that fails on one server may be retried on
 * another.
 */
public final class Cluster implements Upstream {
    private final String name;
    private final Wire wire;
    private final ServerCapabilities capabilities;
    private final ReplicaSet replicas;
    private final ClusterMetrics metrics;
    private final CircuitBreakers breakers;
    private final AttemptResources shared;
    private final Runnable closed;

    /**
     * Starts with the servers that are known.
     *
     * @param replicas taken: closed with this
     * @param closed called after this was closed
     */
    public Cluster(
            String name,
            UpstreamConfig config,
            ServerCapabilities capabilities,
            ReplicaSet replicas,
            MeterRegistry meters,
            Runnable closed) {
        this(name, config, capabilities, replicas, meters, System::nanoTime, closed);
    }

    /** @param nanoTime as {@link System#nanoTime()} */
    Cluster(
            String name,
            UpstreamConfig config,
            ServerCapabilities capabilities,
            ReplicaSet replicas,
            MeterRegistry meters,
            LongSupplier nanoTime) {
        this(name, config, capabilities, replicas, meters, nanoTime, () -> {});
    }

    private Cluster(
            String name,
            UpstreamConfig config,
            ServerCapabilities capabilities,
            ReplicaSet replicas,
            MeterRegistry meters,
            LongSupplier nanoTime,
            Runnable closed) {
        this.name = name;
        this.closed = closed;
        this.wire = switch (config.protocol()) {
            case GRPC -> Wire.PROTOBUF;
            case REST -> Wire.REST;
        };
        this.capabilities = capabilities;
        this.replicas = replicas;
        this.metrics = new ClusterMetrics(name, meters);
        this.breakers = new CircuitBreakers(name, config, nanoTime, metrics);
        RetryBudget budget = new RetryBudget(config.retry().budget(), nanoTime);
        metrics.watch(budget);
        this.shared = new AttemptResources(
                new UpstreamFailures(name, replicas.ending()),
                replicas,
                new RetryPolicy(config.retry()),
                budget,
                config.timeout(),
                config.tryTimeout(),
                metrics,
                nanoTime,
                () -> ThreadLocalRandom.current().nextLong());
    }

    /** Completes when each host name among the endpoints has been resolved or has failed to resolve once. */
    public CompletableFuture<Void> resolved() {
        return replicas.resolved();
    }

    /** The servers and their current state. */
    public List<ReplicaStatus> members() {
        return replicas.members(name);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public List<String> extensions() {
        return capabilities.extensions();
    }

    @Override
    public ServerFeatures peer() {
        return capabilities.peer(wire);
    }

    @Override
    public Subscription infer(Call call, ModelRef model, InferMessage message, Reply reply) {
        return send(call, new ReplayableRequest.InferenceRequest(model, message, false), reply);
    }

    /** A request small enough to be kept for a retry is sent in one piece. */
    @Override
    public long passesFrom() {
        return wire == Wire.PROTOBUF
                ? Math.max(GrpcDeframer.LARGE, shared.retryPolicy().kept())
                : Long.MAX_VALUE;
    }

    @Override
    public RequestSink inferParts(Call call, ModelRef model, long length, Reply reply) {
        ReplayableRequest.StreamedInference request = new ReplayableRequest.StreamedInference(model, length);
        UpstreamCall upstreamCall = admit(call, request, reply);
        return upstreamCall == null ? RequestSink.ENDED : new OpenCall(request, upstreamCall);
    }

    /** The request body of a call, forwarded to the server of the current attempt. */
    private record OpenCall(ReplayableRequest.StreamedInference request, UpstreamCall call) implements RequestSink {
        @Override
        public void data(ByteBuf part) {
            request.data(part);
        }

        @Override
        public void end() {
            call.sent();
            request.end();
        }

        @Override
        public boolean isReady() {
            return request.isReady();
        }

        @Override
        public long held() {
            return request.held();
        }

        @Override
        public void cancel() {
            call.cancel();
        }

        @Override
        public void onReady() {
            call.onReady();
        }
    }

    @Override
    public Subscription inferEvents(Call call, ModelRef model, InferMessage message, Reply reply) {
        return send(call, new ReplayableRequest.InferenceRequest(model, message, true), reply);
    }

    @Override
    public Subscription generate(Call call, Operation.Generate generate, ByteBuf body, Reply reply) {
        return send(call, new ReplayableRequest.PassThroughRequest(generate, body), reply);
    }

    /** Null if the call was rejected. */
    private @Nullable UpstreamCall admit(Call call, ReplayableRequest request, Reply reply) {
        CircuitBreakers.CallPermit permit;
        try {
            permit = breakers.acquire(request.endless());
        } catch (OipException refused) {
            request.release();
            reply.fail(refused);
            return null;
        }
        return UpstreamCall.start(shared, call, request, permit, reply);
    }

    private Subscription send(Call call, ReplayableRequest request, Reply reply) {
        UpstreamCall upstreamCall = admit(call, request, reply);
        return upstreamCall == null ? Subscription.NONE : upstreamCall;
    }

    @Override
    public Object server(Call call, ModelRef model) {
        Replica replica = call.affinity() == Call.NO_AFFINITY ? null : replicas.pick(call, model, List.of());
        return replica == null ? this : replica;
    }

    @Override
    public UpstreamStream inferStream(Call call, ModelRef model, Reply reply) {
        CircuitBreakers.CallPermit permit;
        try {
            permit = breakers.acquire(true);
        } catch (OipException refused) {
            reply.fail(refused);
            return UpstreamStream.ENDED;
        }
        Replica replica = replicas.pick(call, model, List.of());
        if (replica == null) {
            permit.release(CallOutcome.CANCELLED);
            reply.fail(shared.noServer());
            return UpstreamStream.ENDED;
        }
        TraceSpan span = shared.attempted(call, replica, model);
        TrackedRequest tracked = new TrackedRequest(replica, metrics, shared.nanoTime(), span);
        return TrackedStream.open(replica, tracked, permit, span.propagated(call), model, reply);
    }

    /** Not subject to the circuit breaker: an operator may need to change a model because its calls fail. */
    @Override
    public Subscription manage(Call call, Operation.Manage manage, ByteBuf body, Reply reply) {
        return UpstreamCall.start(shared, call, new ReplayableRequest.PassThroughRequest(manage, body), null, reply);
    }

    @Override
    public Subscription serverReady(Call call, Reply reply) {
        return sendBodiless(call, ModelRef.of(""), Upstream::serverReady, reply);
    }

    @Override
    public Subscription serverMetadata(Call call, Reply reply) {
        return sendBodiless(call, ModelRef.of(""), Upstream::serverMetadata, reply);
    }

    @Override
    public Subscription modelReady(Call call, ModelRef model, Reply reply) {
        return sendBodiless(
                call, model, (server, ownCall, replies) -> server.modelReady(ownCall, model, replies), reply);
    }

    @Override
    public Subscription modelMetadata(Call call, ModelRef model, Reply reply) {
        return sendBodiless(
                call, model, (server, ownCall, replies) -> server.modelMetadata(ownCall, model, replies), reply);
    }

    /** Not subject to the circuit breaker: health and metadata requests are always allowed. */
    private Subscription sendBodiless(
            Call call, ModelRef model, ReplayableRequest.BodilessRequest.Sending sending, Reply reply) {
        return UpstreamCall.start(shared, call, new ReplayableRequest.BodilessRequest(model, sending), null, reply);
    }

    @Override
    public void close() {
        replicas.close();
        metrics.close();
        closed.run();
    }
}
