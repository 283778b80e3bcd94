package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Subscription;
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

/** The servers of one configured upstream, seen as one: a call that fails on one may go to another. */
public final class Cluster implements Upstream {
    private final String name;
    private final Wire wire;
    private final ServerCapabilities knowledge;
    private final ReplicaSet replicas;
    private final ClusterMetrics metrics;
    private final CircuitBreakers guard;
    private final AttemptResources tries;

    /** @param replicas taken: closed with this */
    public Cluster(
            String name,
            UpstreamConfig config,
            ServerCapabilities knowledge,
            ReplicaSet replicas,
            MeterRegistry meters) {
        this(name, config, knowledge, replicas, meters, System::nanoTime);
    }

    /** @param nanoTime as {@link System#nanoTime()} */
    Cluster(
            String name,
            UpstreamConfig config,
            ServerCapabilities knowledge,
            ReplicaSet replicas,
            MeterRegistry meters,
            LongSupplier nanoTime) {
        this.name = name;
        this.wire = switch (config.protocol()) {
            case GRPC -> Wire.PROTOBUF;
            case REST -> Wire.REST;
        };
        this.knowledge = knowledge;
        this.replicas = replicas;
        this.metrics = new ClusterMetrics(name, meters);
        this.guard = new CircuitBreakers(name, config, nanoTime, metrics);
        this.tries = new AttemptResources(
                new UpstreamFailures(name, replicas.ending()),
                replicas,
                new RetryPolicy(config.retry()),
                new RetryBudget(config.retry().budget(), nanoTime),
                config.timeout(),
                config.tryTimeout(),
                metrics,
                nanoTime,
                () -> ThreadLocalRandom.current().nextLong());
    }

    /** Ends when the names among its endpoints were looked up once, with success or without. */
    public CompletableFuture<Void> lookedUp() {
        return replicas.lookedUp();
    }

    /** The servers as they are now. */
    public List<ReplicaStatus> members() {
        return replicas.members(name);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public List<String> extensions() {
        return knowledge.extensions();
    }

    @Override
    public ServerFeatures peer() {
        return knowledge.peer(wire);
    }

    @Override
    public Subscription infer(Call call, ModelRef model, InferMessage message, Reply reply) {
        return sent(call, new ReplayableRequest.InferenceRequest(model, message, false), reply);
    }

    /** Where a request of this size is kept for another try it is sent whole. */
    @Override
    public long passesFrom() {
        return wire == Wire.PROTOBUF
                ? Math.max(GrpcDeframer.LARGE, tries.rules().kept())
                : Long.MAX_VALUE;
    }

    @Override
    public RequestSink inferParts(Call call, ModelRef model, long length, Reply reply) {
        ReplayableRequest.StreamedInference question = new ReplayableRequest.StreamedInference(model, length);
        UpstreamCall attempts = guarded(call, question, reply);
        return attempts == null ? RequestSink.ENDED : new OpenCall(question, attempts);
    }

    /** The request of a call, for the server that it is at. */
    private record OpenCall(ReplayableRequest.StreamedInference question, UpstreamCall call) implements RequestSink {
        @Override
        public void data(ByteBuf part) {
            question.data(part);
        }

        @Override
        public void end() {
            call.sent();
            question.end();
        }

        @Override
        public boolean isReady() {
            return question.writable();
        }

        @Override
        public long held() {
            return question.held();
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
        return sent(call, new ReplayableRequest.InferenceRequest(model, message, true), reply);
    }

    @Override
    public Subscription generate(Call call, Operation.Generate generate, ByteBuf body, Reply reply) {
        return sent(call, new ReplayableRequest.PassThroughRequest(generate, body), reply);
    }

    /** Null where it was refused. */
    private @Nullable UpstreamCall guarded(Call call, ReplayableRequest question, Reply reply) {
        CircuitBreakers.CallPermit pass;
        try {
            pass = guard.enter(question.endless());
        } catch (OipException refused) {
            question.release();
            reply.fail(refused);
            return null;
        }
        return UpstreamCall.start(tries, call, question, pass, reply);
    }

    private Subscription sent(Call call, ReplayableRequest question, Reply reply) {
        UpstreamCall attempts = guarded(call, question, reply);
        return attempts == null ? Subscription.NONE : attempts;
    }

    @Override
    public Object server(Call call, ModelRef model) {
        Replica home = call.affinity() == Call.NO_AFFINITY ? null : replicas.pick(call, model, List.of());
        return home == null ? this : home;
    }

    @Override
    public UpstreamStream inferStream(Call call, ModelRef model, Reply reply) {
        CircuitBreakers.CallPermit pass;
        try {
            pass = guard.enter(true);
        } catch (OipException refused) {
            reply.fail(refused);
            return UpstreamStream.ENDED;
        }
        Replica replica = replicas.pick(call, model, List.of());
        if (replica == null) {
            pass.ended(CallOutcome.CANCELLED);
            reply.fail(tries.noServer());
            return UpstreamStream.ENDED;
        }
        return TrackedStream.open(
                replica, new TrackedRequest(replica, metrics, tries.nanoTime()), pass, call, model, reply);
    }

    /** Not guarded: an operator may have to change a model because its calls fail. */
    @Override
    public Subscription manage(Call call, Operation.Manage manage, ByteBuf body, Reply reply) {
        return UpstreamCall.start(tries, call, new ReplayableRequest.PassThroughRequest(manage, body), null, reply);
    }

    @Override
    public Subscription serverReady(Call call, Reply reply) {
        return ask(call, ModelRef.of(""), Upstream::serverReady, reply);
    }

    @Override
    public Subscription serverMetadata(Call call, Reply reply) {
        return ask(call, ModelRef.of(""), Upstream::serverMetadata, reply);
    }

    @Override
    public Subscription modelReady(Call call, ModelRef model, Reply reply) {
        return ask(call, model, (server, ours, answers) -> server.modelReady(ours, model, answers), reply);
    }

    @Override
    public Subscription modelMetadata(Call call, ModelRef model, Reply reply) {
        return ask(call, model, (server, ours, answers) -> server.modelMetadata(ours, model, answers), reply);
    }

    /** Not guarded: how a server is can be asked at any time. */
    private Subscription ask(
            Call call, ModelRef model, ReplayableRequest.BodilessRequest.Sending sending, Reply reply) {
        return UpstreamCall.start(tries, call, new ReplayableRequest.BodilessRequest(model, sending), null, reply);
    }

    @Override
    public void close() {
        replicas.close();
        metrics.close();
    }
}
