package dev.isthmus.gateway.warm;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.TimeGauge;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the request path before the gateway reports itself ready, so that the JIT compiler has done its work: until it no
 * longer becomes faster, or up to a limit of processor time or of time. It goes on after that while no client calls, at
 * half of a core. A failure ends it like success.
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

    /** As above, of the part after the gateway is ready. */
    private static final Duration IDLE_CPU_LIMIT = Duration.ofSeconds(30);

    private static final long NANOS_PER_MILLI = 1_000_000;

    private volatile boolean finished;
    private volatile boolean ended;
    private final AtomicInteger requests = new AtomicInteger();
    private volatile long nanos;

    /** Whether it has finished. Thread-safe. */
    public boolean finished() {
        return finished;
    }

    /** Whether nothing of it runs any more. Thread-safe. */
    boolean ended() {
        return ended;
    }

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
     * @param idle how long it goes on afterwards while no client calls; zero for not at all
     * @param busy whether a client calls; must be cheap and thread-safe
     * @param then runs when it has finished, and before it goes on
     */
    public void begin(Duration limit, Duration idle, BooleanSupplier busy, Runnable then) {
        if (limit.isZero()) {
            finished = true;
            ended = true;
            then.run();
            return;
        }
        Thread.ofPlatform().daemon().name("isthmus-warm-up").start(() -> {
            run(limit);
            then.run();
            if (!idle.isZero()) {
                TimeLimit end = new TimeLimit(idle, IDLE_CPU_LIMIT);
                run("warm-up ended, which went on while no client called", () -> exerciseWhileIdle(end, busy));
            }
            ended = true;
        });
    }

    /** Runs it on this thread, without what goes on afterwards. */
    public void run(Duration limit) {
        long start = System.nanoTime();
        TimeLimit end = new TimeLimit(limit, CPU_LIMIT);
        run("warm-up finished", () -> exercise(end));
        // Collects the garbage now rather than while clients are served, as they may be when what goes on has ended.
        System.gc();
        nanos = System.nanoTime() - start;
        finished = true;
    }

    private void run(String what, Callable<Integer> part) {
        long start = System.nanoTime();
        try {
            FutureTask<Integer> exercise = new FutureTask<>(part);
            Thread.ofPlatform().group(THREADS).daemon().name("isthmus-exercise").start(exercise);
            int sent = exercise.get();
            requests.addAndGet(sent);
            if (sent > 0) {
                LOG.info("{}: {} requests in {} ms", what, sent, (System.nanoTime() - start) / NANOS_PER_MILLI);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (Exception e) {
            LOG.warn("the warm-up failed, and the first requests take longer; please report it", e);
        }
    }

    /**
     * Runs twice, briefly and then fully: shutting down the first run exercises event loop code that was not compiled
     * before, which would otherwise invalidate compiled code just when clients arrive.
     */
    private static int exercise(TimeLimit end) throws Exception {
        return WarmUpWorkload.run(new SteadyStateDetector(FIRST_ROUNDS, 0), end, WarmUpPacing.FULL)
                + WarmUpWorkload.run(new SteadyStateDetector(MIN_ROUNDS, MAX_SLOW_ROUNDS), end, WarmUpPacing.FULL);
    }

    private static int exerciseWhileIdle(TimeLimit end, BooleanSupplier busy) throws Exception {
        WarmUpPacing pacing = WarmUpPacing.whileIdle(busy);
        pacing.awaitIdle(end);
        return WarmUpWorkload.run(new SteadyStateDetector(MIN_ROUNDS, MAX_SLOW_ROUNDS), end, pacing);
    }
}
