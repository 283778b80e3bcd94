package dev.isthmus.bench.faults;

import io.netty.channel.EventLoop;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** A request in flight. It ends exactly once, at the latest with the client's timeout. */
final class PendingRequest {
    private final Client.Ended ended;
    private final AtomicBoolean over = new AtomicBoolean();
    private final Future<?> timeout;

    /**
     * Starts the timeout.
     *
     * @param abandon run on the loop when the timeout expires
     */
    PendingRequest(EventLoop loop, long limitMillis, Client.Ended ended, Runnable abandon) {
        this.ended = ended;
        this.timeout = loop.schedule(
                () -> {
                    if (over.compareAndSet(false, true)) {
                        ended.ended(Outcome.TIMEOUT);
                        abandon.run();
                    }
                },
                limitMillis,
                TimeUnit.MILLISECONDS);
    }

    /** Ends the request; later calls are ignored. */
    void end(Outcome outcome) {
        if (over.compareAndSet(false, true)) {
            timeout.cancel(false);
            ended.ended(outcome);
        }
    }

    boolean over() {
        return over.get();
    }
}
