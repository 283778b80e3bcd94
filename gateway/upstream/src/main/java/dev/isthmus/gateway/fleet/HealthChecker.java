package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.fleet.Replica.ReplicaCounts.CheckResult;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.UpstreamConfig.Checks;
import dev.isthmus.gateway.upstream.CallbackReply;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Wire;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * Probes one server periodically for its readiness and that of each model. It requests the metadata first, and again
 * after the server was away: upstreams learn the server's capabilities from them. Runs on one event loop.
 */
final class HealthChecker implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(HealthChecker.class);

    private final String upstream;
    private final Replica replica;
    private final Checks checks;
    private final ClusterResources resources;
    private final PeriodicProbe probe;
    private final ModelHealthChecker models;
    private final HealthThreshold threshold;
    private long probedAt;
    private boolean failedBefore;

    HealthChecker(
            String upstream,
            Replica replica,
            Checks checks,
            Supplier<Set<ModelRef>> models,
            ClusterResources resources) {
        this.upstream = upstream;
        this.replica = replica;
        this.checks = checks;
        this.resources = resources;
        this.probe = new PeriodicProbe(checks.interval(), resources, started -> probe());
        this.models = new ModelHealthChecker(replica, checks, models, resources, this::call);
        this.threshold = new HealthThreshold(checks);
    }

    void start() {
        probe.start();
    }

    ModelHealthChecker models() {
        return models;
    }

    private Call call() {
        long deadline = resources.nanoTime().getAsLong() + checks.timeout().toNanos();
        return new Call(new Operation.ServerReady(), deadline, Map.of(), resources.loop(), resources.allocator());
    }

    private void probe() {
        if (replica.described()) {
            probeReadiness();
        } else {
            // If the reason of a failure persists, the readiness probe reports it.
            Reply reply =
                    new CallbackReply(message -> replica.described(true), this::described, failure -> probeReadiness());
            replica.server().send(call(), new UpstreamRequest.ServerMetadataRequest(), reply);
        }
    }

    /** A server whose metadata do not say what it is may be recognized by what it says of a model that it does not have. */
    private void described() {
        ServerCapabilities capabilities = replica.server().capabilities();
        if (capabilities == null || !capabilities.isUnrecognized()) {
            probeReadiness();
            return;
        }
        Reply reply = new CallbackReply(message -> {}, this::probeReadiness, failure -> {
            if (!UpstreamFailures.isUnreachable(failure)) {
                capabilities.learn(failure);
            }
            probeReadiness();
        });
        UpstreamRequest request = new UpstreamRequest.ModelMetadataRequest(ServerCapabilities.UNKNOWN_MODEL);
        replica.server().send(call(), request, reply);
    }

    private void probeReadiness() {
        probedAt = resources.nanoTime().getAsLong();
        Reply reply = new CallbackReply(this::record, probe::completed, failure -> {
            record(false, false, failure.message());
            probe.completed();
        });
        replica.server().send(call(), new UpstreamRequest.ServerReadyRequest(), reply);
    }

    private void record(ReplyMessage response) {
        boolean ready = response instanceof ReplyMessage.Ready is && is.ready();
        record(ready, true, "the server reports that it is not ready");
    }

    /** @param responded whether the server responded at all */
    private void record(boolean healthy, boolean responded, String reason) {
        if (probe.closed()) {
            return;
        }
        CheckResult result = healthy ? CheckResult.READY : responded ? CheckResult.NOT_READY : CheckResult.FAILED;
        replica.counts().checks(result).add(resources.nanoTime().getAsLong() - probedAt);
        if (!healthy) {
            // A different server may replace it at this address.
            replica.described(false);
        } else if (failedBefore) {
            replica.recovered();
        }
        failedBefore = !healthy;
        boolean first = replica.readiness().server() == ReplicaReadiness.ServerState.UNKNOWN;
        if (threshold.record(healthy)) {
            changed(healthy, reason, first);
        }
        if (responded) {
            // A server that reports itself not ready may still have ready models.
            models.probe();
        } else if (replica.readiness().server() == ReplicaReadiness.ServerState.NOT_READY) {
            models.reset();
        }
    }

    private void changed(boolean ready, String reason, boolean first) {
        ReplicaReadiness before = replica.readiness();
        if (!ready) {
            replica.readiness(before.with(ReplicaReadiness.ServerState.NOT_READY, reason));
            event(LOG.atWarn(), first)
                    .log("upstream '{}': {} is not ready and gets no calls: {}", upstream, replica.label(), reason);
            return;
        }
        if (!first) {
            replica.slowStart().restart(resources.nanoTime().getAsLong());
        }
        replica.readiness(before.with(ReplicaReadiness.ServerState.READY, ""));
        event(LOG.atInfo(), first).log("upstream '{}': {} is ready", upstream, replica.label());
    }

    /** @param first whether nothing was known of the server, which does not repeat */
    private LoggingEventBuilder event(LoggingEventBuilder event, boolean first) {
        return (first ? event : event.addMarker(RepeatingLogEvent.MARKER))
                .addKeyValue("upstream", upstream)
                .addKeyValue("server", replica.label());
    }

    @Override
    public void close() {
        probe.close();
        models.close();
    }

    /** Turns consecutive probe results into a health state. The first result decides at once. */
    static final class HealthThreshold {
        private final Checks checks;
        private @Nullable Boolean healthy;
        private int opposite;

        HealthThreshold(Checks checks) {
            this.checks = checks;
        }

        /** Whether this result changed the state. */
        boolean record(boolean result) {
            if (healthy == null) {
                healthy = result;
                return true;
            }
            if (healthy == result) {
                opposite = 0;
                return false;
            }
            opposite++;
            if (opposite < (result ? checks.healthyAfter() : checks.unhealthyAfter())) {
                return false;
            }
            healthy = result;
            opposite = 0;
            return true;
        }

        /** Null before the first result. */
        @Nullable
        Boolean healthy() {
            return healthy;
        }
    }

    /**
     * Probes which models are ready on one server: new models at once, known ones again in each round, as fast as {@link
     * CheckPace} allows; one after the other over HTTP/1.1, a few together over HTTP/2. Runs on one event loop. A model is not ready if the server
     * cannot be reached; a failure that says nothing about the model, such as rejected credentials, leaves its state
     * unchanged.
     */
    static final class ModelHealthChecker {
        /** Results within this time are published together: each publication copies the state of all models. */
        private static final long PUBLISH_DELAY_MILLIS = 20;
        /** Streams of one connection, which are written and read together. */
        private static final int HTTP2_BATCH = 8;
        /** A server that goes on denying a model that it reports to be ready is not asked each time. */
        private static final long SUSPECTED_MILLIS = 1_000;

        private final Replica replica;
        private final Checks checks;
        private final Supplier<Set<ModelRef>> models;
        private final ClusterResources resources;
        private final Supplier<Call> calls;
        private final Map<ModelRef, HealthThreshold> thresholds = new HashMap<>();
        private final Set<String> suspected = new HashSet<>();
        private final Round first;
        private final Round again;
        private boolean publishing;
        private volatile boolean closed;

        ModelHealthChecker(
                Replica replica,
                Checks checks,
                Supplier<Set<ModelRef>> models,
                ClusterResources resources,
                Supplier<Call> calls) {
            this.replica = replica;
            this.checks = checks;
            this.models = models;
            this.resources = resources;
            this.calls = calls;
            this.first = new Round((probes, task) -> resources.loop().execute(task));
            this.again = new Round(resources.modelChecks()::submit);
        }

        /** Begins a round of all models, unless the previous one is in progress. */
        void probe() {
            Set<ModelRef> configured = models.get();
            if (thresholds.keySet().retainAll(configured)) {
                publish();
            }
            again.begin(thresholds.keySet());
            if (!first.inProgress) {
                List<ModelRef> unseen = configured.stream()
                        .filter(model -> !thresholds.containsKey(model))
                        .toList();
                unseen.forEach(model -> thresholds.put(model, new HealthThreshold(checks)));
                first.begin(unseen);
            }
        }

        /** The server does not respond: the state of its models is unknown until it does. */
        void reset() {
            if (!thresholds.isEmpty()) {
                thresholds.clear();
                publish();
            }
        }

        /**
         * Probes the models of this name now. The results count at once, and earlier probes in flight do not.
         *
         * @return completes when the results are published, or without them if the server does not say
         */
        CompletableFuture<Void> recheck(String name) {
            CompletableFuture<?>[] probes = models.get().stream()
                    .filter(model -> !closed && model.name().equals(name))
                    .map(this::recheck)
                    .toArray(CompletableFuture<?>[]::new);
            return CompletableFuture.allOf(probes).thenRun(this::publish);
        }

        private CompletableFuture<Void> recheck(ModelRef model) {
            CompletableFuture<Void> ended = new CompletableFuture<>();
            send(new ModelProbe(model, new HealthThreshold(checks), () -> ended.complete(null)) {
                @Override
                void note(boolean ready) {
                    thresholds.put(model, threshold);
                    threshold.record(ready);
                }
            });
            return ended;
        }

        /** The server has denied a model that is known to be ready on it: checks it now, but at most once a second. */
        void suspect(String name) {
            if (closed || !suspected.add(name)) {
                return;
            }
            resources.loop().schedule(() -> suspected.remove(name), SUSPECTED_MILLIS, TimeUnit.MILLISECONDS);
            recheck(name);
        }

        private void send(ModelProbe probe) {
            Call call = calls.get();
            try {
                replica.server().send(call, new UpstreamRequest.ModelReadyRequest(probe.model), probe);
            } catch (RuntimeException | OutOfMemoryError fault) {
                probe.fail(CallLog.failureOf(fault, call.context()));
            }
        }

        private void note(ModelRef model, HealthThreshold threshold, boolean ready) {
            if (thresholds.get(model) != threshold || !threshold.record(ready) || publishing) {
                return;
            }
            try {
                resources.loop().schedule(this::publish, PUBLISH_DELAY_MILLIS, TimeUnit.MILLISECONDS);
                publishing = true;
            } catch (RejectedExecutionException e) {
                // The gateway is shutting down.
                closed = true;
            }
        }

        private void publish() {
            publishing = false;
            Map<ModelRef, Boolean> ready = HashMap.newHashMap(thresholds.size());
            thresholds.forEach((model, threshold) -> {
                Boolean healthy = threshold.healthy();
                if (healthy != null) {
                    ready.put(model, healthy);
                }
            });
            replica.readiness(replica.readiness().with(ready));
        }

        void close() {
            closed = true;
        }

        /** When a number of probes is sent; never at once: the stack would deepen with each of them. */
        private interface Turns {
            void submit(int probes, Runnable task);
        }

        /** Probes of some models, a batch after the other. */
        private final class Round {
            private final Turns turns;
            private Iterator<ModelRef> rest = Collections.emptyIterator();
            private boolean inProgress;
            private int pending;

            Round(Turns turns) {
                this.turns = turns;
            }

            void begin(Collection<ModelRef> round) {
                if (!inProgress) {
                    rest = List.copyOf(round).iterator();
                    next();
                }
            }

            private void next() {
                int most = replica.server().peer().wire() == Wire.PROTOBUF ? HTTP2_BATCH : 1;
                List<ModelRef> batch = new ArrayList<>(most);
                while (batch.size() < most && rest.hasNext()) {
                    batch.add(rest.next());
                }
                inProgress = !batch.isEmpty() && !closed;
                if (!inProgress) {
                    return;
                }
                try {
                    turns.submit(batch.size(), () -> probe(batch));
                } catch (RejectedExecutionException e) {
                    // The gateway is shutting down.
                    closed = true;
                }
            }

            /** Models that were removed meanwhile, or whose server was lost, are left out. */
            private void probe(List<ModelRef> batch) {
                batch.removeIf(model -> !thresholds.containsKey(model));
                pending = batch.size();
                if (pending == 0 || closed) {
                    next();
                    return;
                }
                for (ModelRef model : batch) {
                    send(new ModelProbe(model, Objects.requireNonNull(thresholds.get(model)), this::ended));
                }
            }

            private void ended() {
                pending--;
                if (pending == 0) {
                    next();
                }
            }
        }

        private class ModelProbe implements Reply {
            final ModelRef model;
            final HealthThreshold threshold;
            private final Runnable then;
            private @Nullable Boolean ready;
            private boolean ended;

            /** @param threshold the model's when the probe is sent */
            ModelProbe(ModelRef model, HealthThreshold threshold, Runnable then) {
                this.model = model;
                this.threshold = threshold;
                this.then = then;
            }

            void note(boolean ready) {
                ModelHealthChecker.this.note(model, threshold, ready);
            }

            @Override
            public void message(ReplyMessage response) {
                ready = response instanceof ReplyMessage.ModelReadyState is && is.ready();
                response.release();
            }

            @Override
            public void complete() {
                end(ready);
            }

            @Override
            public void fail(OipException failure) {
                boolean denied = failure.code() == ErrorCode.NOT_FOUND || UpstreamFailures.isUnreachable(failure);
                end(denied ? false : null);
            }

            /** @param result null if the response says nothing about the model, or there is none */
            private void end(@Nullable Boolean result) {
                if (!ended) {
                    ended = true;
                    if (result != null) {
                        note(result);
                    }
                    then.run();
                }
            }
        }
    }
}
