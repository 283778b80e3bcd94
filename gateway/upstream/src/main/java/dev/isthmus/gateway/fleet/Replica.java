package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.adaptive.AdaptiveLimit;
import dev.isthmus.gateway.call.StickyHash;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.upstream.Upstream;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/** One server of a cluster and its state. Thread-safe. */
final class Replica {
    private static final Logger LOG = LoggerFactory.getLogger(Replica.class);

    private final String label;
    private final long hash;
    private final Upstream server;
    private final LongSupplier nanoTime;
    private final Ejection ejection;
    private final SlowStart slowStart;
    private final @Nullable AdaptiveLimit adaptiveLimit;
    private final AtomicLong changes;
    private final ReplicaLoad load = new ReplicaLoad();
    private final LatencyEstimate latency = new LatencyEstimate();
    private final ReplicaCounts counts = new ReplicaCounts();
    private volatile ReplicaReadiness readiness = ReplicaReadiness.UNKNOWN;
    private volatile boolean described;

    /**
     * A server that may be ready.
     *
     * @param label address and port: for logs and metrics, and the key of consistent hashing; never sent to clients
     * @param adaptiveLimit null if only the calls of the upstream are limited
     * @param changes incremented after each change of what decides whether a server is eligible; shared by the set
     */
    Replica(
            String label,
            Upstream server,
            LongSupplier nanoTime,
            Ejection ejection,
            SlowStart slowStart,
            @Nullable AdaptiveLimit adaptiveLimit,
            AtomicLong changes) {
        this.label = label;
        this.hash = StickyHash.of(label);
        this.server = server;
        this.nanoTime = nanoTime;
        this.ejection = ejection;
        this.slowStart = slowStart;
        this.adaptiveLimit = adaptiveLimit;
        this.changes = changes;
    }

    String label() {
        return label;
    }

    /** The hash of the label, the same in every gateway. */
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

    ReplicaCounts counts() {
        return counts;
    }

    Ejection ejection() {
        return ejection;
    }

    SlowStart slowStart() {
        return slowStart;
    }

    @Nullable
    AdaptiveLimit adaptiveLimit() {
        return adaptiveLimit;
    }

    /** How many inferences it may have at once; {@link Integer#MAX_VALUE} without an adaptive limit. */
    int concurrencyLimit() {
        return adaptiveLimit == null ? Integer.MAX_VALUE : adaptiveLimit.limit();
    }

    /** How many more inferences it may have. */
    int room() {
        return adaptiveLimit == null ? Integer.MAX_VALUE : adaptiveLimit.room();
    }

    ReplicaReadiness readiness() {
        return readiness;
    }

    void readiness(ReplicaReadiness seen) {
        if (!seen.equals(readiness)) {
            readiness = seen;
            eligibilityChanged();
        }
    }

    private void eligibilityChanged() {
        changes.incrementAndGet();
    }

    /** Whether its metadata were requested since it was last away. */
    boolean described() {
        return described;
    }

    void described(boolean now) {
        described = now;
    }

    /** Whether it is eligible for calls. */
    boolean usable(long now) {
        return readiness.server() != ReplicaReadiness.ServerState.NOT_READY && !ejection.ejected(now);
    }

    int activeRequests() {
        return load.inFlight();
    }

    /** Records the start of a request; {@link #ended} follows exactly once. */
    void started() {
        load.started();
    }

    /**
     * A request has ended.
     *
     * @param nanos from the start to the first response message, or to the failure
     * @param bound whether it could only go to this server
     */
    void ended(CallOutcome outcome, long nanos, boolean bound) {
        load.ended();
        counts.requests(outcome).add(nanos);
        long now = nanoTime.getAsLong();
        latency.measure(nanos, outcome == CallOutcome.ANSWERED, now);
        switch (outcome) {
            case ANSWERED -> succeeded(now);
            case ERROR -> answeredWithError(bound, now);
            case UNAVAILABLE, FAILED -> failed(now);
            case CANCELLED -> {}
        }
    }

    /** An error of the server, as far as it says: all that are bound to it may be mistakes of one client. */
    private void answeredWithError(boolean bound, long now) {
        ejection.interrupted();
        if (bound) {
            counts.boundError();
        } else {
            load.failed(now);
        }
    }

    private void succeeded(long now) {
        boolean ejected = ejection.ejected(now);
        ejection.succeeded(now);
        if (ejected) {
            eligibilityChanged();
        }
    }

    private void failed(long now) {
        load.failed(now);
        // A different server may replace it at this address.
        described = false;
        if (ejection.failed(now)) {
            ejected()
                    .log(
                            "upstream '{}': {} is ejected for {} s because its calls fail; see why: GET /debug/errors",
                            server.name(),
                            label,
                            TimeUnit.NANOSECONDS.toSeconds(ejection.until() - now));
        }
    }

    /** Ejects it because of the share of its calls that failed in an interval, if one more server may be ejected. */
    void ejectForErrors(long failed, long calls) {
        long now = nanoTime.getAsLong();
        if (ejection.failedTooOften(now)) {
            ejected()
                    .log(
                            "upstream '{}': {} is ejected for {} s because {} of its last {} calls failed or were"
                                    + " answered with 5xx, more than other servers'; see why: GET /debug/errors",
                            server.name(),
                            label,
                            TimeUnit.NANOSECONDS.toSeconds(ejection.until() - now),
                            failed,
                            calls);
        }
    }

    /** It was ejected, and will slow-start. Returns the event to log. */
    private LoggingEventBuilder ejected() {
        slowStart.restart(ejection.until());
        eligibilityChanged();
        return LOG.atWarn()
                .addMarker(RepeatingLogEvent.MARKER)
                .addKeyValue("upstream", server.name())
                .addKeyValue("server", label);
    }

    /** Records an interval with enough calls, of which not too many failed. */
    void passedInterval() {
        ejection.passedInterval(nanoTime.getAsLong());
    }

    /** A health check succeeded after failures: ends an ejection. */
    void recovered() {
        long now = nanoTime.getAsLong();
        if (ejection.ejected(now)) {
            slowStart.restart(now);
        }
        ejection.lift(now);
        load.recovered();
        eligibilityChanged();
    }

    /** The load of one server: our calls in flight, and the queue depth it reports. Thread-safe. */
    static final class ReplicaLoad {
        /** Older readings are ignored. */
        private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(3);

        private final AtomicInteger inFlight = new AtomicInteger();
        private final AtomicLong sent = new AtomicLong();
        /** Failed calls, which count less and less: a server that fails at once would otherwise seem idle. */
        private final AtomicLong failed = new AtomicLong();

        private volatile @Nullable QueueReading reading;

        private record QueueReading(long pending, long sentBefore, long time) {}

        int inFlight() {
            return inFlight.get();
        }

        /** The number of calls ever sent. */
        long sent() {
            return sent.get();
        }

        void started() {
            inFlight.incrementAndGet();
            sent.incrementAndGet();
        }

        void ended() {
            inFlight.decrementAndGet();
        }

        /** A call has failed, or was answered with an error of the server. */
        void failed(long now) {
            failed.updateAndGet(seen -> LatencyEstimate.packed((float) LatencyEstimate.at(seen, now) + 1, now));
        }

        /** What has failed before counts no more. */
        void recovered() {
            failed.set(LatencyEstimate.NOTHING);
        }

        /** The calls in flight, and those that failed lately. */
        long inFlightOrFailed(long now) {
            return inFlight.get() + Math.round(LatencyEstimate.at(failed.get(), now));
        }

        /**
         * Records the queue depth that the server reported.
         *
         * @param sentBefore {@link #sent()} when the queue depth was requested
         */
        void read(long pending, long sentBefore, long now) {
            reading = new QueueReading(pending, sentBefore, now);
        }

        /** The estimated queue depth: the last reading plus the calls sent since; -1 without a fresh reading. */
        long pending(long now) {
            QueueReading last = reading;
            if (last == null || now - last.time > FRESH_NANOS) {
                return -1;
            }
            return last.pending + sent.get() - last.sentBefore;
        }
    }
}
