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
 * Asks one server which models are ready on it, one after the other. Runs on one event loop. A model is not ready where
 * the server does not answer for it; what says nothing of the model, such as a refused credential, leaves it as it was.
 */
final class ModelHealthChecker {
    private final Replica replica;
    private final Checks rules;
    private final Supplier<Set<ModelRef>> models;
    private final ClusterResources around;
    private final Supplier<Call> calls;
    private final Map<ModelRef, HealthThreshold> streaks = new HashMap<>();
    private boolean asking;
    private volatile boolean closed;

    ModelHealthChecker(
            Replica replica,
            Checks rules,
            Supplier<Set<ModelRef>> models,
            ClusterResources around,
            Supplier<Call> calls) {
        this.replica = replica;
        this.rules = rules;
        this.models = models;
        this.around = around;
        this.calls = calls;
    }

    /** Asks for all models, unless that is under way. */
    void ask() {
        Set<ModelRef> wanted = models.get();
        if (asking) {
            return;
        }
        if (streaks.keySet().retainAll(wanted)) {
            publish();
        }
        asking = true;
        next(wanted.iterator());
    }

    /** The server does not answer: nothing is known of its models until it does. */
    void forget() {
        if (!streaks.isEmpty()) {
            streaks.clear();
            publish();
        }
    }

    private void next(Iterator<ModelRef> rest) {
        if (closed || !rest.hasNext()) {
            asking = false;
            return;
        }
        ModelRef model = rest.next();
        replica.server().modelReady(calls.get(), model, new ModelReadyReply(new PeriodicCheck(model, rest)));
    }

    private void note(ModelRef model, boolean ready) {
        if (streaks.computeIfAbsent(model, unseen -> new HealthThreshold(rules)).changedBy(ready)) {
            publish();
        }
    }

    private void publish() {
        Map<ModelRef, Boolean> ready = HashMap.newHashMap(streaks.size());
        streaks.forEach((model, streak) -> ready.put(model, streak.healthy()));
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
            goOn();
        }

        @Override
        public void failed(OipException failure) {
            if (failure.code() == ErrorCode.NOT_FOUND || ModelReadyReply.unreachable(failure)) {
                note(model, false);
            }
            goOn();
        }

        /** Not by a call: where each reply came before its question returned, the stack would grow with the models. */
        private void goOn() {
            try {
                around.loop().execute(() -> next(rest));
            } catch (RejectedExecutionException e) {
                // The gateway is ending.
                closed = true;
            }
        }
    }
}
