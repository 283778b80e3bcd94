package dev.isthmus.bench.faults;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;

/** Sends requests and counts their outcomes. At most {@link #MAX_IN_FLIGHT} are in flight; others fail unsent. */
final class Load {
    static final int MAX_IN_FLIGHT = 4_096;

    private final Client client;
    private final Tally tally;
    private final LongSupplier clock;
    private final boolean counted;
    private final Semaphore free = new Semaphore(MAX_IN_FLIGHT);

    /**
     * A load from one client.
     *
     * @param counted whether the stubs count its requests; false for a warm-up
     */
    Load(Client client, Tally tally, LongSupplier clock, boolean counted) {
        this.client = client;
        this.tally = tally;
        this.clock = clock;
        this.counted = counted;
    }

    /** Sends requests on schedule and waits until all have ended. */
    void open(int perSecond, int count) throws InterruptedException {
        new OpenLoop(perSecond, count, clock, LockSupport::parkNanos).run(this::arrive);
        drain();
    }

    /** Sends requests, each after an earlier one has ended, and waits until all have ended. */
    void closed(int count, int concurrency) throws InterruptedException {
        Semaphore turns = new Semaphore(concurrency);
        for (int id = 0; id < count; id++) {
            turns.acquire();
            free.acquire();
            send(id, clock.getAsLong(), turns);
        }
        drain();
    }

    /** Sends a request that was scheduled for this time. */
    void arrive(int id, long scheduledNanos) {
        if (free.tryAcquire()) {
            send(id, scheduledNanos, new Semaphore(0));
        } else {
            tally.offered();
            long now = clock.getAsLong();
            tally.ended(id, scheduledNanos, now, now, Outcome.UNSENT);
        }
    }

    private void send(int id, long scheduledNanos, Semaphore turns) {
        tally.offered();
        long sent = clock.getAsLong();
        client.send(new Request(counted ? id : -1, Request.MODEL), outcome -> {
            tally.ended(id, scheduledNanos, sent, clock.getAsLong(), outcome);
            turns.release();
            free.release();
        });
    }

    /** Waits until all have ended. */
    void drain() throws InterruptedException {
        if (!free.tryAcquire(MAX_IN_FLIGHT, 1, TimeUnit.MINUTES)) {
            throw new IllegalStateException("requests have not ended within a minute");
        }
        free.release(MAX_IN_FLIGHT);
    }
}
