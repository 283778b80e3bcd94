package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.settings.UpstreamConfig.Checks;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Supplier;

/**
 * Probes which models are ready on one server, one after the other. Runs on one event loop. A model is not ready if the
 * server cannot be reached; a failure that says nothing about the model, such as rejected credentials, leaves its state
 * unchanged.
 */
final class ModelHealthChecker {
    private final Replica replica;
    private final Checks checks;
    private final Supplier<Set<ModelRef>> models;
    private final ClusterResources resources;
    private final Supplier<Call> calls;
    private final Map<ModelRef, HealthThreshold> thresholds = new HashMap<>();
    private boolean probing;
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
    }

    /** Probes all models, unless a round is in progress. */
    void probe() {
        Set<ModelRef> configured = models.get();
        if (probing) {
            return;
        }
        if (thresholds.keySet().retainAll(configured)) {
            publish();
        }
        probing = true;
        next(configured.iterator());
    }

    /** The server does not respond: the state of its models is unknown until it does. */
    void reset() {
        if (!thresholds.isEmpty()) {
            thresholds.clear();
            publish();
        }
    }

    private void next(Iterator<ModelRef> rest) {
        if (closed || !rest.hasNext()) {
            probing = false;
            return;
        }
        ModelRef model = rest.next();
        replica.server().modelReady(calls.get(), model, new ModelReadyReply(new PeriodicCheck(model, rest)));
    }

    private void note(ModelRef model, boolean ready) {
        if (thresholds
                .computeIfAbsent(model, unseen -> new HealthThreshold(checks))
                .record(ready)) {
            publish();
        }
    }

    private void publish() {
        Map<ModelRef, Boolean> ready = HashMap.newHashMap(thresholds.size());
        thresholds.forEach((model, threshold) -> ready.put(model, threshold.healthy()));
        replica.readiness(replica.readiness().with(ready));
    }

    void close() {
        closed = true;
    }

    private final class PeriodicCheck implements ModelReadyReply.ModelReadyListener {
        private final ModelRef model;
        private final Iterator<ModelRef> rest;

        PeriodicCheck(ModelRef model, Iterator<ModelRef> rest) {
            this.model = model;
            this.rest = rest;
        }

        @Override
        public void ready(boolean ready) {
            note(model, ready);
            scheduleNext();
        }

        @Override
        public void failed(OipException failure) {
            if (failure.code() == ErrorCode.NOT_FOUND || ModelReadyReply.unreachable(failure)) {
                note(model, false);
            }
            scheduleNext();
        }

        /**
         * Hands over to the event loop: a direct call would deepen the stack with each model if replies arrive
         * synchronously.
         */
        private void scheduleNext() {
            try {
                resources.loop().execute(() -> next(rest));
            } catch (RejectedExecutionException e) {
                // The gateway is shutting down.
                closed = true;
            }
        }
    }
}
