package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.adaptive.AdaptiveLimit;
import dev.isthmus.gateway.call.StickyHash;
import dev.isthmus.gateway.net.Labelled;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.upstream.ConnectionCounts.DurationSum;
import dev.isthmus.gateway.upstream.Upstream;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
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
            changes.incrementAndGet();
        }
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
        if (ejected && !ejection.ejected(now)) {
            slowStart.restart(now);
            changes.incrementAndGet();
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
        changes.incrementAndGet();
        return RepeatingLogEvent.warn(LOG)
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
        changes.incrementAndGet();
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

    /**
     * Peak EWMA of a server's response latency: it rises to a higher sample at once, falls slowly, and decays while nothing
     * is measured, so that a slow server is tried again. Thread-safe.
     */
    static final class LatencyEstimate {
        private static final double DECAY_NANOS = Duration.ofSeconds(10).toNanos();
        /** Time is stored in units of 2^20 ns, about 1 ms. */
        private static final int UNIT_BITS = 20;

        static final long NOTHING = 0;
        private static final long LOW_HALF = 0xFFFF_FFFFL;

        /**
         * High half: the time of the sample. Low half: the average as float bits. One word, so that both change atomically.
         */
        private final AtomicLong measured = new AtomicLong(NOTHING);

        boolean known() {
            return measured.get() != NOTHING;
        }

        /** The estimate in nanoseconds; 0 if nothing was measured. */
        double at(long now) {
            return at(measured.get(), now);
        }

        /** What is left of a {@link #packed} value; 0 if there is none. */
        static double at(long seen, long now) {
            return seen == NOTHING ? 0 : average(seen) * decay(seen, now);
        }

        /** @param mayLower false for calls that ended without a response: their latency is at least this */
        void measure(long nanos, boolean mayLower, long now) {
            float sample = Math.max(1, nanos);
            measured.updateAndGet(seen -> {
                if (seen == NOTHING) {
                    return mayLower ? packed(sample, now) : NOTHING;
                }
                float average = average(seen);
                if (sample < average && !mayLower) {
                    return seen;
                }
                double kept = sample < average ? decay(seen, now) : 0;
                return packed((float) (average * kept + sample * (1 - kept)), now);
            });
        }

        /** A value that decays from now on. */
        static long packed(float average, long now) {
            return unit(now) << Integer.SIZE | (Float.floatToRawIntBits(average) & LOW_HALF);
        }

        private static float average(long seen) {
            return Float.intBitsToFloat((int) seen);
        }

        private static double decay(long seen, long now) {
            int units = Math.max(0, (int) (unit(now) - (seen >>> Integer.SIZE)));
            return Math.exp(-((long) units << UNIT_BITS) / DECAY_NANOS);
        }

        private static long unit(long nanos) {
            return nanos >> UNIT_BITS;
        }
    }

    /** Counts the requests to one server, its checks, and how long they took. Thread-safe. */
    static final class ReplicaCounts {
        private final DurationSum[] requests = sums(CallOutcome.values().length);
        /** Those of the requests that were messages of streams. */
        private final AtomicLongArray streamed = new AtomicLongArray(CallOutcome.values().length);

        private final DurationSum[] checks = sums(CheckResult.values().length);

        private final LongAdder boundErrors = new LongAdder();

        enum CheckResult implements Labelled {
            READY,
            /** The server reports that it is not ready. */
            NOT_READY,
            /** The server did not respond, or not in time. */
            FAILED
        }

        private static DurationSum[] sums(int length) {
            return Stream.generate(DurationSum::new).limit(length).toArray(DurationSum[]::new);
        }

        void boundError() {
            boundErrors.increment();
        }

        /** Those of the requests with the outcome ERROR that could only go to this server. */
        long boundErrors() {
            return boundErrors.sum();
        }

        @SuppressWarnings("EnumOrdinal") // indexes an array that lives as long as the enum
        DurationSum requests(CallOutcome outcome) {
            return requests[outcome.ordinal()];
        }

        /** A request that was a message of a stream has ended. */
        @SuppressWarnings("EnumOrdinal") // as above
        void streamed(CallOutcome outcome, long nanos) {
            streamed.incrementAndGet(outcome.ordinal());
            requests(outcome).add(nanos);
        }

        /** The number of requests that were no messages of streams. */
        @SuppressWarnings("EnumOrdinal") // as above
        long calls(CallOutcome outcome) {
            return requests(outcome).count() - streamed.get(outcome.ordinal());
        }

        @SuppressWarnings("EnumOrdinal") // as above
        DurationSum checks(CheckResult result) {
            return checks[result.ordinal()];
        }
    }

    /** Slow start of one server: its share of calls grows from a tenth to the full share. */
    static final class SlowStart {
        /** Not 0, so that the server is seen to work and its latency is measured from the start. */
        static final double FLOOR = 0.1;

        private final long window;
        private volatile long since;

        private SlowStart(long window, long since) {
            this.window = window;
            this.since = since;
        }

        /** For a server that gets its full share at once, until it {@linkplain #restart starts again}. */
        static SlowStart full(Duration window, long now) {
            return new SlowStart(window.toNanos(), now - window.toNanos());
        }

        /** For a server that joins others that already serve calls. */
        static SlowStart joining(Duration window, long now) {
            return new SlowStart(window.toNanos(), now);
        }

        /** Begins again when the server returns, which may be in the future. */
        void restart(long from) {
            since = from;
        }

        /** When the share is full, unless it starts again. */
        long end() {
            return since + window;
        }

        /** The share of calls at this time, from {@link #FLOOR} to 1. */
        double share(long now) {
            if (window == 0) {
                return 1;
            }
            return Math.clamp((double) (now - since) / window, FLOOR, 1);
        }
    }
}
