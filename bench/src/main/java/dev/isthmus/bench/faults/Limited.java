package dev.isthmus.bench.faults;

import io.netty.channel.EventLoop;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** A request under way: it ends once, at the latest when the client's limit has passed. */
final class Limited {
    private final Client.Ended ended;
    private final AtomicBoolean over = new AtomicBoolean();
    private final Future<?> timeout;

    /**
     * Starts the time.
     *
     * @param abandon is run on the loop when the limit has passed
     */
    Limited(EventLoop loop, long limitMillis, Client.Ended ended, Runnable abandon) {
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

    /** Ends it; all but the first end count for nothing. */
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
