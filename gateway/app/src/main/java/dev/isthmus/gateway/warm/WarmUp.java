package dev.isthmus.gateway.warm;

import java.time.Duration;
import java.util.concurrent.FutureTask;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Exercises the code that requests go through, once, so that the JIT compiler has been at work before the gateway calls
 * itself ready: until it is faster no more, or for as long as it may take. A failure ends it like success.
 */
public final class WarmUp {
    /** All threads of warm-ups, also those that their gateways start: a thread belongs where the one belongs that starts it. */
    static final ThreadGroup THREADS = new ThreadGroup("isthmus-warm-up");

    private static final Logger LOG = LoggerFactory.getLogger(WarmUp.class);
    private static final int FIRST_ROUNDS = 3;
    private static final int LEAST_ROUNDS = 10;
    private static final int PATIENCE = 4;
    private static final long NANOS_A_MILLI = 1_000_000;

    private volatile boolean over;

    /** Whether it has ended; before it was begun it has not. Any thread. */
    public boolean over() {
        return over;
    }

    /**
     * Begins, on a thread of its own.
     *
     * @param most how long it may take; zero for no warm-up at all
     * @param then runs when it has ended
     */
    public void begin(Duration most, Runnable then) {
        if (most.isZero()) {
            over = true;
            then.run();
            return;
        }
        Thread.ofPlatform().daemon().name("isthmus-warm-up").start(() -> {
            run(most);
            then.run();
        });
    }

    /** The same on this thread: returns when it is over. */
    public void run(Duration most) {
        long begun = System.nanoTime();
        try {
            FutureTask<Integer> exercise = new FutureTask<>(() -> exercise(begun + most.toNanos()));
            Thread.ofPlatform().group(THREADS).daemon().name("isthmus-exercise").start(exercise);
            int requests = exercise.get();
            LOG.info(
                    "warm after {} requests of its own in {} ms",
                    requests,
                    (System.nanoTime() - begun) / NANOS_A_MILLI);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (Exception e) {
            LOG.warn("the warm-up failed; the first requests will take longer", e);
        } finally {
            // What the warm-up used goes back now, and not when the first clients are served.
            System.gc();
            over = true;
        }
    }

    /**
     * Twice, shortly and in earnest: what the end of the first does to event loops, which the compilers had not seen, would
     * otherwise discard what they made of the code that everything runs on, just when clients come.
     */
    private static int exercise(long endNanos) throws Exception {
        return WarmUpWorkload.run(new SteadyStateDetector(FIRST_ROUNDS, 0), endNanos)
                + WarmUpWorkload.run(new SteadyStateDetector(LEAST_ROUNDS, PATIENCE), endNanos);
    }
}
