package dev.isthmus.gateway.warm;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.TimeGauge;
import java.time.Duration;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the request path before the gateway reports itself ready, so that the JIT compiler has done its work: until it no
 * longer becomes faster, or up to a limit of processor time or of time. A failure ends it like success.
 */
public final class WarmUp {
    /** All warm-up threads, including those that its gateways start: a thread inherits its starter's group. */
    static final ThreadGroup THREADS = new ThreadGroup("isthmus-warm-up");

    private static final Logger LOG = LoggerFactory.getLogger(WarmUp.class);
    private static final int FIRST_ROUNDS = 1;
    private static final int MIN_ROUNDS = 10;
    private static final int MAX_SLOW_ROUNDS = 4;
    /** Of all threads of the process: it does the same work on any number of cores, and on a part of one. */
    private static final Duration CPU_LIMIT = Duration.ofMillis(5_500);

    private static final long NANOS_PER_MILLI = 1_000_000;

    private volatile boolean finished;
    private final AtomicInteger requests = new AtomicInteger();
    private volatile long nanos;

    /** Whether it has finished. Thread-safe. */
    public boolean finished() {
        return finished;
    }

    /** Registers its gauges. */
    public void show(MeterRegistry registry) {
        TimeGauge.builder("isthmus.warm.up.duration", this, TimeUnit.NANOSECONDS, warmUp -> warmUp.nanos)
                .strongReference(true)
                .description("Duration of the warm-up; 0 if it has not ended, or there was none")
                .register(registry);
        Gauge.builder("isthmus.warm.up.requests", requests, AtomicInteger::get)
                .strongReference(true)
                .description("Requests of the warm-up, which no other metric counts")
                .register(registry);
    }

    /**
     * Starts it on a thread of its own.
     *
     * @param limit the time limit; zero skips the warm-up
     * @param then runs when it has finished
     */
    public void begin(Duration limit, Runnable then) {
        if (limit.isZero()) {
            finished = true;
            then.run();
            return;
        }
        Thread.ofPlatform().daemon().name("isthmus-warm-up").start(() -> {
            run(limit);
            then.run();
        });
    }

    /** Runs it on this thread. */
    public void run(Duration limit) {
        long start = System.nanoTime();
        TimeLimit end = new TimeLimit(limit, CPU_LIMIT);
        try {
            FutureTask<Integer> exercise = new FutureTask<>(() -> exercise(end));
            Thread.ofPlatform().group(THREADS).daemon().name("isthmus-exercise").start(exercise);
            int sent = exercise.get();
            requests.addAndGet(sent);
            if (sent > 0) {
                LOG.info("warm-up finished: {} requests in {} ms", sent, (System.nanoTime() - start) / NANOS_PER_MILLI);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (Exception e) {
            LOG.warn("the warm-up failed, and the first requests take longer; please report it", e);
        } finally {
            // Collect the warm-up's garbage now rather than while clients are served.
            System.gc();
        }
        nanos = System.nanoTime() - start;
        finished = true;
    }

    /**
     * Runs twice, briefly and then fully: shutting down the first run exercises event loop code that was not compiled
     * before, which would otherwise invalidate compiled code just when clients arrive.
     */
    private static int exercise(TimeLimit end) throws Exception {
        return WarmUpWorkload.run(new SteadyStateDetector(FIRST_ROUNDS, 0), end)
                + WarmUpWorkload.run(new SteadyStateDetector(MIN_ROUNDS, MAX_SLOW_ROUNDS), end);
    }
}
