package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.settings.UpstreamConfig.Checks;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks one server from time to time whether it is ready, and each model on it. Its metadata come first, and again after it
 * was away: upstreams learn from them what their servers know. Runs on one event loop.
 */
final class HealthChecker implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(HealthChecker.class);

    private final String upstream;
    private final Replica replica;
    private final Checks rules;
    private final ClusterResources around;
    private final PeriodicProbe questions;
    private final ModelHealthChecker models;
    private final HealthThreshold streak;
    private boolean failedBefore;

    HealthChecker(
            String upstream, Replica replica, Checks rules, Supplier<Set<ModelRef>> models, ClusterResources around) {
        this.upstream = upstream;
        this.replica = replica;
        this.rules = rules;
        this.around = around;
        this.questions = new PeriodicProbe(rules.interval(), around.loop(), around.random(), this::ask);
        this.models = new ModelHealthChecker(replica, rules, models, around, this::call);
        this.streak = new HealthThreshold(rules);
    }

    void start() {
        questions.start();
    }

    private Call call() {
        long deadline = around.nanoTime().getAsLong() + rules.timeout().toNanos();
        return new Call(new Operation.ServerReady(), deadline, Map.of(), around.loop(), around.allocator());
    }

    private void ask() {
        if (replica.described()) {
            askReady();
        } else {
            replica.server().serverMetadata(call(), new ServerDescriptionReply());
        }
    }

    private void askReady() {
        replica.server().serverReady(call(), new HealthReply());
    }

    /** @param answered whether it said anything at all */
    private void note(boolean good, boolean answered, String reason) {
        if (questions.closed()) {
            return;
        }
        if (!good) {
            // Another server may come in its place.
            replica.described(false);
        } else if (failedBefore) {
            replica.cameBack();
        }
        failedBefore = !good;
        boolean first = replica.readiness().server() == ReplicaReadiness.ServerState.UNKNOWN;
        if (streak.changedBy(good)) {
            changed(good, reason, first);
        }
        if (answered) {
            // A server may have some of its models while it calls itself not ready.
            models.ask();
        } else if (replica.readiness().server() == ReplicaReadiness.ServerState.NOT_READY) {
            models.forget();
        }
    }

    private void changed(boolean ready, String reason, boolean first) {
        ReplicaReadiness before = replica.readiness();
        if (!ready) {
            replica.readiness(before.with(ReplicaReadiness.ServerState.NOT_READY, reason));
            LOG.warn("upstream '{}': {} is not ready: {}", upstream, replica.label(), reason);
            return;
        }
        if (!first) {
            replica.warmth().restart(around.nanoTime().getAsLong());
        }
        replica.readiness(before.with(ReplicaReadiness.ServerState.READY, ""));
        LOG.info("upstream '{}': {} is ready", upstream, replica.label());
    }

    @Override
    public void close() {
        questions.close();
        models.close();
    }

    private final class ServerDescriptionReply implements Reply {
        @Override
        public void message(ReplyMessage answer) {
            replica.described(true);
            answer.release();
        }

        @Override
        public void complete() {
            askReady();
        }

        @Override
        public void fail(OipException failure) {
            // The reason, if it still holds, is told by the answer on readiness.
            askReady();
        }
    }

    private final class HealthReply implements Reply {
        @Override
        public void message(ReplyMessage answer) {
            note(answer instanceof ReplyMessage.Ready is && is.ready(), true, "it says that it is not ready");
            answer.release();
        }

        @Override
        public void complete() {
            questions.answered();
        }

        @Override
        public void fail(OipException failure) {
            note(false, false, failure.message());
            questions.answered();
        }
    }
}
