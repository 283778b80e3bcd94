package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.net.RepeatingLogEvent;
import java.time.Duration;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs a probe periodically, never concurrently with itself, and jittered so that servers are not all probed at once.
 */
final class PeriodicProbe implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PeriodicProbe.class);
    private static final long FIRST_WITHIN_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final double JITTER = 0.1;

    private final long interval;
    private final ScheduledExecutorService loop;
    private final RandomGenerator random;
    private final Consumer<PeriodicProbe> probe;
    private boolean inProgress;
    private volatile boolean closed;
    private volatile @Nullable ScheduledFuture<?> next;

    /**
     * Does nothing before {@link #start()}.
     *
     * @param probe called on the loop; must call {@link #completed()} on the loop when it is done
     */
    PeriodicProbe(Duration interval, ClusterResources resources, Consumer<PeriodicProbe> probe) {
        this.interval = interval.toNanos();
        this.loop = resources.loop();
        this.random = resources.random();
        this.probe = probe;
    }

    void start() {
        schedule(random.nextLong(FIRST_WITHIN_NANOS));
    }

    void completed() {
        inProgress = false;
    }

    boolean closed() {
        return closed;
    }

    private void tick() {
        if (closed) {
            return;
        }
        schedule((long) (interval * (1 - JITTER + 2 * JITTER * random.nextDouble())));
        if (!inProgress) {
            inProgress = true;
            try {
                probe.accept(this);
            } catch (RuntimeException | OutOfMemoryError fault) {
                completed();
                RepeatingLogEvent.fault(LOG, fault).log("internal error in a probe; please report it");
            }
        }
    }

    private void schedule(long nanos) {
        try {
            next = loop.schedule(this::tick, nanos, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            // The gateway is shutting down.
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
