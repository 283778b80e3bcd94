package dev.isthmus.gateway.upstream;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The timeouts of calls that expire in the order in which they began, as those of equal length do. One timer of the
 * event loop serves all: it is set to the first timeout and not moved when calls end. Used on that loop only.
 */
public final class TimeoutQueue {
    private final EventLoop loop;
    private final LongSupplier nanoTime;
    private @Nullable CallTimeout first;
    private @Nullable CallTimeout last;
    private @Nullable Future<?> timer;
    /** When the timer expires. */
    private long timerEnd;

    /** @param nanoTime on the scale of {@link System#nanoTime()} */
    public TimeoutQueue(EventLoop loop, LongSupplier nanoTime) {
        this.loop = loop;
        this.nanoTime = nanoTime;
    }

    EventLoop loop() {
        return loop;
    }

    long now() {
        return nanoTime.getAsLong();
    }

    /** Adds a timeout; false if one before it expires later. */
    boolean add(CallTimeout added) {
        CallTimeout before = last;
        if (before != null && before.end() - added.end() > 0) {
            return false;
        }
        added.previous = before;
        if (before == null) {
            first = added;
        } else {
            before.next = added;
        }
        last = added;
        if (timer == null) {
            schedule();
        } else if (before == null && added.end() - timerEnd < 0) {
            close();
            schedule();
        }
        return true;
    }

    /** Removes a timeout that was added and has not expired. */
    void remove(CallTimeout removed) {
        CallTimeout before = removed.previous;
        CallTimeout after = removed.next;
        if (before == null) {
            first = after;
        } else {
            before.next = after;
        }
        if (after == null) {
            last = before;
        } else {
            after.previous = before;
        }
        removed.previous = null;
        removed.next = null;
    }

    private void schedule() {
        if (first != null) {
            timerEnd = first.end();
            timer = loop.schedule(this::expire, timerEnd - now(), TimeUnit.NANOSECONDS);
        }
    }

    private void expire() {
        timer = null;
        try {
            for (CallTimeout due = first; due != null && due.end() - now() <= 0; due = first) {
                due.expire();
            }
        } finally {
            if (timer == null) {
                schedule();
            }
        }
    }

    /** Stops the timer, which the next call starts again. */
    public void close() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
    }
}
