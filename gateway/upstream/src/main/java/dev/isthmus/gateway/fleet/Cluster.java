package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.AttemptTarget;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.gateway.fleet.RetryPolicy.RetryBudget;
import dev.isthmus.gateway.grpc.GrpcDeframer;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.UnaryStream;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest.InferenceRequest;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
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
    private final @Nullable CallQueue queue;
    private final Runnable closed;

    /**
     * Starts with the servers that are known.
     *
     * @param replicas taken: closed with this
     * @param closed called after this was closed
     */
    public Cluster(
            String name, UpstreamConfig config, ServerCapabilities capabilities, ReplicaSet replicas, Runnable closed) {
        ClusterResources resources = replicas.resources();
        this.name = name;
        this.closed = closed;
        this.wire = switch (config.protocol()) {
            case GRPC -> Wire.PROTOBUF;
            case REST -> Wire.REST;
        };
        this.capabilities = capabilities;
        this.replicas = replicas;
        this.metrics = new ClusterMetrics(name, resources.meters());
        this.breakers = new CircuitBreakers(name, config, resources.nanoTime(), metrics);
        RetryBudget budget = new RetryBudget(config.retry().budget(), resources.nanoTime());
        metrics.watch(budget);
        this.shared = new AttemptResources(
                new UpstreamFailures(name, resources.ending()),
                replicas,
                new RetryPolicy(config.retry()),
                budget,
                config.hedging() == null
                        ? null
                        : metrics.hedging(config.hedging(), config.retry(), resources.nanoTime()),
                config.timeout(),
                config.tryTimeout(),
                metrics,
                resources.nanoTime(),
                resources.random());
        this.queue = config.queue() == null ? null : new CallQueue(config.queue(), breakers, shared);
    }

    /** Its servers. */
    public ReplicaSet replicas() {
        return replicas;
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

    /** A request small enough to be kept for another attempt is sent in one piece. */
    @Override
    public long passesFrom() {
        HedgePolicy hedges = shared.hedges();
        long kept = Math.max(shared.retryPolicy().kept(), hedges == null ? 0 : hedges.maxBody());
        return wire == Wire.PROTOBUF ? Math.max(GrpcDeframer.LARGE, kept) : Long.MAX_VALUE;
    }

    @Override
    public boolean readsPriority() {
        return queue != null && queue.byPriority();
    }

    @Override
    public Subscription send(Call call, UpstreamRequest request, Reply reply) {
        if (request instanceof UpstreamRequest.InferenceRequest inference) {
            try {
                inference.message();
            } catch (OipException invalid) {
                return Upstream.refuse(request, invalid, reply);
            }
        }
        boolean limited = limited(request);
        if (queue != null && limited && !request.endless()) {
            return queue.send(call, request, reply);
        }
        CircuitBreakers.CallPermit permit;
        try {
            permit = limited ? breakers.acquire(request.endless()) : null;
        } catch (OipException refused) {
            return Upstream.refuse(request, refused, reply);
        }
        return UpstreamCall.start(shared, call, request, permit, null, reply);
    }

    /**
     * Whether it is subject to the circuit breaker. Health and metadata requests are always allowed, and an operator may
     * need to change a model because its calls fail.
     */
    private static boolean limited(UpstreamRequest request) {
        return switch (request) {
            case UpstreamRequest.InferenceRequest _,
                    UpstreamRequest.InferenceInParts _,
                    UpstreamRequest.GenerateRequest _ -> true;
            case UpstreamRequest.ManageRequest _,
                    UpstreamRequest.ServerReadyRequest _,
                    UpstreamRequest.ServerMetadataRequest _,
                    UpstreamRequest.ModelReadyRequest _,
                    UpstreamRequest.ModelMetadataRequest _,
                    UpstreamRequest.ModelNamesRequest _ -> false;
        };
    }

    @Override
    public Upstream server(Call call, ModelRef model) {
        Replica replica = call.affinity() == Call.NO_AFFINITY ? null : replicas.pick(call, model, List.of());
        return replica == null ? this : replica.server();
    }

    @Override
    public UpstreamStream inferStream(Call call, ModelRef model, Reply reply) {
        if (call.operation() instanceof Operation.InferStream stream
                && stream.separate()
                && peer().dialect().wholeStreams()) {
            return new UnaryStream(this, call, reply);
        }
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
        TrackedStream tracked =
                new TrackedStream(shared, replica, span, permit, model, call.affinity() != Call.NO_AFFINITY, reply);
        tracked.open(replica.server(), span.propagated(call));
        return tracked;
    }

    @Override
    public void close() {
        if (queue != null) {
            queue.close();
        }
        replicas.close();
        metrics.close();
        closed.run();
    }

    /**
     * What all calls to one cluster share.
     *
     * @param hedges null if no call is sent to a second server before the first one has failed
     * @param timeout of a call without a deadline of its own
     * @param attemptTimeout timeout of one attempt; null if only the call's timeout applies
     * @param nanoTime on the scale of {@link System#nanoTime()}
     */
    record AttemptResources(
            UpstreamFailures failures,
            ReplicaSet replicas,
            RetryPolicy retryPolicy,
            RetryBudget budget,
            @Nullable HedgePolicy hedges,
            Duration timeout,
            @Nullable Duration attemptTimeout,
            ClusterMetrics metrics,
            LongSupplier nanoTime,
            RandomGenerator random) {
        private static final long BASE_BACKOFF_NANOS = TimeUnit.MILLISECONDS.toNanos(25);

        /** The timeout of one attempt; {@link Long#MAX_VALUE} if only the call's timeout applies. */
        long attemptTimeoutNanos() {
            return attemptTimeout == null ? Long.MAX_VALUE : attemptTimeout.toNanos();
        }

        /** The pause before the same server is tried again: it doubles with each attempt and is randomized by ±50 %. */
        long backoff(int attempts) {
            return (long) ((BASE_BACKOFF_NANOS << Math.min(attempts - 1, 10)) * (0.5 + random.nextDouble()));
        }

        /** Records that a request is sent to a server, and begins its span. */
        TraceSpan attempted(Call call, Replica replica, ModelRef model) {
            CallContext context = call.context();
            context.attempted(replica.label());
            TraceSpan span = context.span();
            return span == TraceSpan.NONE
                    ? span
                    : span.attempt(
                            call.operation(),
                            new AttemptTarget(
                                    failures.upstream(),
                                    replica.label(),
                                    replica.server().peer().wire(),
                                    model,
                                    context.attempts()));
        }

        /** The failure of a call if no server is available. */
        OipException noServer() {
            return metrics.rejected(FailureCause.NO_SERVER, "has no available server", ClusterMetrics.RETRY_AFTER);
        }

        /** The failure of a call if all servers have as many calls as their adaptive limits allow. */
        OipException noRoom() {
            return metrics.rejected(
                    FailureCause.ADAPTIVE_LIMIT,
                    "has no server below its adaptive limit of concurrent calls (adaptive_concurrency)",
                    ClusterMetrics.RETRY_AFTER);
        }
    }

    /** A bidirectional stream to one server; it is never moved to another. */
    static final class TrackedStream implements UpstreamStream {
        private final StreamReply reply;
        private final CircuitBreakers.CallPermit permit;
        private final ModelRef model;
        private UpstreamStream stream = UpstreamStream.ENDED;

        TrackedStream(
                AttemptResources shared,
                Replica replica,
                TraceSpan span,
                CircuitBreakers.CallPermit permit,
                ModelRef model,
                boolean bound,
                Reply client) {
            this.permit = permit;
            this.model = model;
            this.reply = new StreamReply(shared, replica, span, bound, client);
        }

        /** Opens the stream; the reply may end before this returns. */
        void open(Upstream server, Call call) {
            try {
                UpstreamStream opened = server.inferStream(call, model, reply);
                if (!reply.ended()) {
                    stream = opened;
                }
            } catch (RuntimeException | OutOfMemoryError e) {
                if (reply.ended()) {
                    throw e;
                }
                // A fault of the gateway: no evidence about the server.
                reply.fail(CallLog.failureOf(e, call.context()), CallOutcome.CANCELLED);
            }
        }

        @Override
        public void send(Call request, InferenceRequest message, boolean emptyFinal) {
            request.context().streamedTo(reply.replica().label());
            stream.send(request, message, emptyFinal);
        }

        /** Counts it, but not for the ejection of the server: errors within a stream have no status. */
        @Override
        public void ended(long nanos, @Nullable OipException failure) {
            CallOutcome outcome = failure == null ? CallOutcome.ANSWERED : CallOutcome.of(failure, false);
            reply.streamed(outcome, nanos);
        }

        @Override
        public void end() {
            stream.end();
        }

        @Override
        public boolean isReady() {
            return stream.isReady();
        }

        @Override
        public long keptBytes() {
            return stream.keptBytes();
        }

        @Override
        public void onReady() {
            stream.onReady();
        }

        @Override
        public void cancel() {
            if (!reply.ended()) {
                reply.end(CallOutcome.CANCELLED, null);
                stream.cancel();
            }
        }

        /** Receives the server's responses. */
        private final class StreamReply extends TrackedReply {
            StreamReply(AttemptResources shared, Replica replica, TraceSpan span, boolean bound, Reply client) {
                super(shared, replica, span, client, shared.nanoTime().getAsLong(), bound);
            }

            @Override
            void end(CallOutcome outcome, @Nullable OipException failure) {
                super.end(outcome, failure);
                permit.release(outcome);
            }

            @Override
            public void message(ReplyMessage response) {
                if (ended()) {
                    response.release();
                    return;
                }
                responded();
                permit.responded();
                if (response instanceof ReplyMessage.StreamError error) {
                    answered(model, error.failure());
                }
                super.message(response);
            }

            @Override
            public void complete() {
                if (!ended()) {
                    end(CallOutcome.ANSWERED, null);
                    super.complete();
                }
            }

            @Override
            public void fail(OipException failure) {
                if (!ended()) {
                    // A stream's deadline is set by its client.
                    fail(failure, CallOutcome.of(failure, false));
                }
            }

            void fail(OipException failure, CallOutcome outcome) {
                end(outcome, failure);
                answered(model, failure);
                super.fail(failure);
            }
        }
    }
}
