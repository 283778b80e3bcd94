package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.upstream.Upstream;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One server of a cluster and what is known of it. Used by all event loops. */
final class Replica {
    private static final Logger LOG = LoggerFactory.getLogger(Replica.class);

    private final String label;
    private final long hash;
    private final Upstream server;
    private final LongSupplier nanoTime;
    private final Ejection ejection;
    private final SlowStart warmth;
    private final ReplicaLoad load = new ReplicaLoad();
    private final LatencyEstimate latency = new LatencyEstimate();
    private volatile ReplicaReadiness readiness = ReplicaReadiness.UNKNOWN;
    private volatile boolean described;

    /** @param label address and port: for logs and metrics, and what calls of one affinity go by; never for clients */
    Replica(String label, Upstream server, LongSupplier nanoTime, Ejection ejection, SlowStart warmth) {
        this.label = label;
        this.hash = ConsistentHash.of(label);
        this.server = server;
        this.nanoTime = nanoTime;
        this.ejection = ejection;
        this.warmth = warmth;
    }

    String label() {
        return label;
    }

    /** Of the label: the same in every gateway. */
    long hash() {
        return hash;
    }

    Upstream server() {
        return server;
    }

    ReplicaLoad load() {
        return load;
    }

    LatencyEstimate latency() {
        return latency;
    }

    Ejection ejection() {
        return ejection;
    }

    SlowStart warmth() {
        return warmth;
    }

    ReplicaReadiness readiness() {
        return readiness;
    }

    void readiness(ReplicaReadiness seen) {
        readiness = seen;
    }

    /** Whether its metadata were asked for since it was last away. */
    boolean described() {
        return described;
    }

    void described(boolean now) {
        described = now;
    }

    /** Whether it gets calls. */
    boolean usable(long now) {
        return readiness.server() != ReplicaReadiness.ServerState.NOT_READY && !ejection.ejected(now);
    }

    int underWay() {
        return load.underWay();
    }

    /** A call goes out; {@link #ended} follows exactly once. */
    void started() {
        load.started();
    }

    /** @param nanos from the start to the first answer, or to the failure */
    void ended(CallOutcome outcome, long nanos) {
        load.ended();
        long now = nanoTime.getAsLong();
        latency.measure(nanos, outcome == CallOutcome.ANSWERED, now);
        switch (outcome) {
            case ANSWERED -> ejection.succeeded(now);
            case FAILED -> failed(now);
            case CANCELLED -> {}
        }
    }

    private void failed(long now) {
        // Another server may have come in its place.
        described = false;
        if (ejection.failed(now)) {
            LOG.warn(
                    "upstream '{}': {} is ejected for {} s, since its calls fail",
                    server.name(),
                    label,
                    TimeUnit.NANOSECONDS.toSeconds(ejection.until() - now));
            warmth.restart(ejection.until());
        }
    }

    /** The server was seen to work after it had failed. */
    void cameBack() {
        long now = nanoTime.getAsLong();
        if (ejection.ejected(now)) {
            warmth.restart(now);
        }
        ejection.lift(now);
    }
}
