package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.Endpoint;
import java.time.Duration;

/** Asks one server from time to time how many requests wait in it. Runs on one event loop. */
final class QueueDepthProbe implements AutoCloseable {
    private static final Duration INTERVAL = Duration.ofMillis(500);

    private final Replica replica;
    private final Endpoint metrics;
    private final ClusterResources around;
    private final PeriodicProbe questions;

    QueueDepthProbe(Replica replica, Endpoint metrics, ClusterResources around) {
        this.replica = replica;
        this.metrics = metrics;
        this.around = around;
        this.questions = new PeriodicProbe(INTERVAL, around.loop(), around.random(), this::ask);
    }

    void start() {
        questions.start();
    }

    private void ask() {
        long sentBefore = replica.load().sent();
        around.pending().ask(metrics, pending -> answered(pending, sentBefore));
    }

    private void answered(long pending, long sentBefore) {
        if (pending != QueueDepthSource.UNKNOWN) {
            replica.load().read(pending, sentBefore, around.nanoTime().getAsLong());
        }
        questions.answered();
    }

    @Override
    public void close() {
        questions.close();
    }
}
