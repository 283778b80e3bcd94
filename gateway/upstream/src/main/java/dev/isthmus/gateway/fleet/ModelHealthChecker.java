package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.settings.UpstreamConfig.Checks;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Wire;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Probes which models are ready on one server: new models at once, known ones again in each round, as fast as {@link
 * CheckPace} allows; one after the other over HTTP/1.1, a few together over HTTP/2. Runs on one event loop. A model is not ready if the server
 * cannot be reached; a failure that says nothing about the model, such as rejected credentials, leaves its state
 * unchanged.
 */
final class ModelHealthChecker {
    /** Results within this time are published together: each publication copies the state of all models. */
    private static final long PUBLISH_DELAY_MILLIS = 20;
    /** Streams of one connection, which are written and read together. */
    private static final int HTTP2_BATCH = 8;

    private final Replica replica;
    private final Checks checks;
    private final Supplier<Set<ModelRef>> models;
    private final ClusterResources resources;
    private final Supplier<Call> calls;
    private final Map<ModelRef, HealthThreshold> thresholds = new HashMap<>();
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

    private void note(ModelRef model, boolean ready) {
        HealthThreshold threshold = thresholds.get(model);
        if (threshold == null || !threshold.record(ready) || publishing) {
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
            if (threshold.known()) {
                ready.put(model, threshold.healthy());
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
                replica.server().send(calls.get(), new UpstreamRequest.ModelReadyRequest(model), new ModelProbe(model));
            }
        }

        private void ended() {
            pending--;
            if (pending == 0) {
                next();
            }
        }

        private final class ModelProbe extends ModelReadyReply {
            private final ModelRef model;

            ModelProbe(ModelRef model) {
                this.model = model;
            }

            @Override
            void ready(boolean isReady) {
                note(model, isReady);
                ended();
            }

            @Override
            void failed(OipException failure) {
                if (failure.code() == ErrorCode.NOT_FOUND || unreachable(failure)) {
                    note(model, false);
                }
                ended();
            }
        }
    }
}
