package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.Endpoint;
import java.time.Duration;

/** Polls the queue depth of one server. Runs on one event loop. */
final class QueueDepthProbe implements AutoCloseable {
    private static final Duration INTERVAL = Duration.ofMillis(500);

    private final Replica replica;
    private final Endpoint metrics;
    private final String authority;
    private final ClusterResources resources;
    private final PeriodicProbe probe;

    QueueDepthProbe(Replica replica, Endpoint metrics, String authority, ClusterResources resources) {
        this.replica = replica;
        this.metrics = metrics;
        this.authority = authority;
        this.resources = resources;
        this.probe = new PeriodicProbe(INTERVAL, resources.loop(), resources.random(), this::probe);
    }

    void start() {
        probe.start();
    }

    private void probe() {
        long sentBefore = replica.load().sent();
        resources.pending().read(metrics, authority, pending -> received(pending, sentBefore));
    }

    private void received(long pending, long sentBefore) {
        if (pending != QueueDepthSource.UNKNOWN) {
            replica.load().read(pending, sentBefore, resources.nanoTime().getAsLong());
        }
        probe.completed();
    }

    @Override
    public void close() {
        probe.close();
    }
}
