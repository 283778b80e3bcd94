package dev.isthmus.gateway.adaptive;

import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.gateway.settings.AdaptiveConcurrency;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Tags;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * How many calls one server may have at once. After each window of calls the limit is multiplied by the gradient, which
 * is the latency without a queue, with a tolerance, divided by the median latency of the window, and the square root of
 * the limit is added, as in Envoy's adaptive concurrency filter and Netflix' concurrency-limits (Gradient). While calls
 * wait in the server, the limit falls to what it processes at once; otherwise it grows.
 *
 * <p>The latency without a queue, the baseline, is measured at half the limit: in each window that has no more calls
 * than that by itself, and otherwise for one window at an interval, or as soon as the limit has fallen to less than half
 * of its highest value since the last one, or the latency below the baseline. As long as a lower limit lowers the
 * latency, the limit of the measurement is halved again. Calls count in the window in which they started.
 *
 * <p>Thread-safe and lock-free. A caller asks {@link #room} before {@link #started}: callers on different threads may
 * exceed the limit by one call each.
 */
public final class AdaptiveLimit {
    private static final long WINDOW_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final int FEWEST_SAMPLES = 4;
    private static final int ENOUGH_SAMPLES = 10;

    private static final int INITIAL = 8;
    private static final double LOWEST_GRADIENT = 0.5;
    /** A latency that is lower by less than this does not come from a shorter queue. */
    private static final double LOWER = 0.9;
    /** How far the baseline follows the median of a window without a queue. */
    private static final double FALL = 0.5;

    private static final double RISE = 0.1;
    /** Windows after a measurement in which no change causes another one. */
    private static final int SETTLING_WINDOWS = 5;

    private final AdaptiveConcurrency settings;
    private final LongSupplier nanoTime;
    private final RandomGenerator random;
    private final AtomicInteger inFlight = new AtomicInteger();
    private final AtomicInteger peak = new AtomicInteger();
    private final LatencySamples samples = new LatencySamples();
    private final AtomicBoolean closing = new AtomicBoolean();
    private volatile int limit;
    private volatile long windowStart;
    /** Nanoseconds; 0 before the first measurement. What follows is written by the thread that closes a window. */
    private volatile double baseline;

    /** The limit aside from measurements. */
    private double steady;
    /** The highest limit since the last measurement. */
    private double highest;

    private boolean measuring;
    /** The median at the previous, higher limit of the present measurement. */
    private double previous;

    private long nextMeasurement;
    private int windowsSince;

    /**
     * Begins with a measurement.
     *
     * @param nanoTime on the scale of {@link System#nanoTime()}
     * @param random thread-safe; so that servers are not measured at the same time
     */
    public AdaptiveLimit(AdaptiveConcurrency settings, LongSupplier nanoTime, RandomGenerator random) {
        this.settings = settings;
        this.nanoTime = nanoTime;
        this.random = random;
        this.steady = Math.clamp(INITIAL, settings.min(), settings.max());
        this.highest = steady;
        this.measuring = true;
        this.previous = Double.MAX_VALUE;
        this.limit = (int) steady;
        this.windowStart = nanoTime.getAsLong();
    }

    /** The present limit, in concurrent calls. */
    public int limit() {
        return limit;
    }

    /** The latency without a queue, in nanoseconds; 0 if it is not known yet. */
    double baselineNanos() {
        return baseline;
    }

    /** Registers what it is at present, and the baseline. */
    public void register(ReplaceableMeters meters, Tags tags) {
        meters.add(Gauge.builder("isthmus.endpoint.concurrency.limit", this, AdaptiveLimit::limit)
                .description("Concurrent inferences that the server may have at present (adaptive_concurrency)")
                .tags(tags)::register);
        meters.add(Gauge.builder("isthmus.endpoint.latency.baseline", this, it -> it.baselineNanos() / 1e9)
                .baseUnit("seconds")
                .description("Latency of the server without a queue, as adaptive_concurrency measured it; 0 at first")
                .tags(tags)::register);
    }

    /** How many more calls the server may have; 0 if it has as many as it may, or more. */
    public int room() {
        return Math.max(0, limit - inFlight.get());
    }

    /** A call is sent to the server; {@link #ended} follows exactly once. */
    public void started() {
        int calls = inFlight.incrementAndGet();
        if (calls > peak.get()) {
            peak.accumulateAndGet(calls, Math::max);
        }
    }

    /**
     * A call has ended.
     *
     * @param started on the scale of {@link System#nanoTime()}
     * @param nanos from its start to its first response or, without one, its end; 0 if that is no measure of the server
     * @param answered whether the server processed it; any other call counts only if it took longer than the baseline
     */
    public void ended(long started, long nanos, boolean answered) {
        inFlight.decrementAndGet();
        long now = nanoTime.getAsLong();
        long start = windowStart;
        if (started - start >= 0 && nanos > 0 && (answered || (baseline > 0 && nanos > baseline))) {
            samples.add(nanos);
            if (now - start >= WINDOW_NANOS && enoughSamples()) {
                closeWindow(now);
            }
        }
    }

    /** A slow server that may have few calls would take long for many samples. */
    private boolean enoughSamples() {
        return samples.count() >= Math.clamp(2L * limit, FEWEST_SAMPLES, ENOUGH_SAMPLES);
    }

    private void closeWindow(long now) {
        if (!closing.compareAndSet(false, true)) {
            return;
        }
        try {
            if (enoughSamples()) {
                limit = Math.clamp((int) next(samples.close(), peak.get(), now), settings.min(), settings.max());
                peak.set(inFlight.get());
                windowStart = now;
                samples.clear();
            }
        } finally {
            closing.set(false);
        }
    }

    /** The limit after a window with this median latency and at most so many concurrent calls. */
    private double next(double median, int calls, long now) {
        windowsSince++;
        if (measuring) {
            return measured(median, now);
        }
        if (calls * 2 <= steady) {
            follow(median);
            scheduleMeasurement(now);
            return steady;
        }
        double gradient = Math.clamp(baseline * (1 + settings.tolerance()) / median, LOWEST_GRADIENT, 1);
        steady = Math.clamp(steady * gradient + Math.sqrt(steady), settings.min(), settings.max());
        highest = Math.max(highest, steady);
        boolean changed = steady * 2 < highest || median < baseline * LOWER;
        if ((changed && windowsSince > SETTLING_WINDOWS) || now - nextMeasurement >= 0) {
            measuring = true;
            previous = Double.MAX_VALUE;
            return steady / 2;
        }
        return steady;
    }

    private double measured(double median, long now) {
        boolean lower = median < previous * LOWER;
        if (lower) {
            boolean lowest = limit <= settings.min();
            previous = median;
            if (!lowest) {
                return limit / 2.0;
            }
        }
        baseline = Math.min(previous, median);
        measuring = false;
        windowsSince = 0;
        highest = steady;
        scheduleMeasurement(now);
        return steady;
    }

    private void follow(double median) {
        double before = baseline;
        baseline = before + (median - before) * (median < before ? FALL : RISE);
    }

    /** After the interval, randomized by ±20 %. */
    private void scheduleMeasurement(long now) {
        nextMeasurement = now + (long) (settings.measureInterval().toNanos() * (0.8 + 0.4 * random.nextDouble()));
    }

    /**
     * The first latencies of a window, for their median. Thread-safe and lock-free: a sample that arrives while the window
     * is closed may count in either window.
     */
    private static final class LatencySamples {
        /** More do not make the median much more exact. */
        private static final int KEPT = 256;

        private final AtomicLongArray nanos = new AtomicLongArray(KEPT);
        private final AtomicInteger count = new AtomicInteger();

        void add(long sample) {
            if (count.get() < KEPT) {
                int at = count.getAndIncrement();
                if (at < KEPT) {
                    nanos.set(at, sample);
                }
            }
        }

        int count() {
            return Math.min(KEPT, count.get());
        }

        /** The median of the window, which has at least one sample. */
        double close() {
            long[] sorted = new long[count()];
            for (int i = 0; i < sorted.length; i++) {
                sorted[i] = nanos.get(i);
            }
            Arrays.sort(sorted);
            return sorted[sorted.length / 2];
        }

        void clear() {
            count.set(0);
        }
    }
}
