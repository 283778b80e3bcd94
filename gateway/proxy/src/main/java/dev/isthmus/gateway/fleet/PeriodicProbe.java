package dev.isthmus.gateway.fleet;

import java.time.Duration;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** Asks something again and again, never twice at the same time, and not all servers in the same moment. */
final class PeriodicProbe implements AutoCloseable {
    private static final long FIRST_WITHIN_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final double JITTER = 0.1;

    private final long interval;
    private final ScheduledExecutorService loop;
    private final RandomGenerator random;
    private final Runnable question;
    private boolean asking;
    private volatile boolean closed;
    private volatile @Nullable ScheduledFuture<?> next;

    /**
     * Nothing is asked before {@link #start()}.
     *
     * @param question run on the loop; {@link #answered()} follows, on the loop, too
     */
    PeriodicProbe(Duration interval, ScheduledExecutorService loop, RandomGenerator random, Runnable question) {
        this.interval = interval.toNanos();
        this.loop = loop;
        this.random = random;
        this.question = question;
    }

    void start() {
        schedule(random.nextLong(FIRST_WITHIN_NANOS));
    }

    void answered() {
        asking = false;
    }

    boolean closed() {
        return closed;
    }

    private void ask() {
        if (closed) {
            return;
        }
        schedule((long) (interval * (1 - JITTER + 2 * JITTER * random.nextDouble())));
        if (!asking) {
            asking = true;
            question.run();
        }
    }

    private void schedule(long nanos) {
        try {
            next = loop.schedule(this::ask, nanos, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            // The gateway is ending.
            closed = true;
        }
    }

    @Override
    public void close() {
        closed = true;
        ScheduledFuture<?> scheduled = next;
        if (scheduled != null) {
            scheduled.cancel(false);
        }
    }
}
