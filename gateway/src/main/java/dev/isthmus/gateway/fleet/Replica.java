package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.upstream.Upstream;
import java.util.concurrent.atomic.AtomicInteger;

/** One server of a cluster and what is known of it. Used by all event loops. */
final class Replica {
    private final String label;
    private final Upstream server;
    private final AtomicInteger underWay = new AtomicInteger();

    /** @param label host and port as configured and resolved: for logs and metrics, never for clients */
    Replica(String label, Upstream server) {
        this.label = label;
        this.server = server;
    }

    String label() {
        return label;
    }

    Upstream server() {
        return server;
    }

    int underWay() {
        return underWay.get();
    }

    /** A call goes out; {@link #ended} follows exactly once. */
    void started() {
        underWay.incrementAndGet();
    }

    /** @param nanos from the start to the first answer, or to the failure */
    void ended(Outcome outcome, long nanos) {
        underWay.decrementAndGet();
    }
}
