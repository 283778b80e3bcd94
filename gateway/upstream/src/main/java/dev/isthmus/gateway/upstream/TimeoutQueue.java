package dev.isthmus.gateway.upstream;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.util.Objects;
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
    private long timerEnd;

    /** @param nanoTime on the scale of {@link System#nanoTime()} */
    public TimeoutQueue(EventLoop loop, LongSupplier nanoTime) {
        this.loop = loop;
        this.nanoTime = nanoTime;
    }

    long now() {
        return nanoTime.getAsLong();
    }

    /** Adds a timeout; false if one before it expires later. */
    boolean add(CallTimeout added) {
        CallTimeout before = last;
        if (before != null && before.end - added.end > 0) {
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
        } else if (before == null && added.end - timerEnd < 0) {
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
            timerEnd = first.end;
            timer = loop.schedule(this::expire, timerEnd - now(), TimeUnit.NANOSECONDS);
        }
    }

    private void expire() {
        timer = null;
        try {
            for (CallTimeout due = first; due != null && due.end - now() <= 0; due = first) {
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

    /** The timeout of one call. Used on the event loop of the call. */
    public static final class CallTimeout {
        private final long nanos;
        private final boolean announced;
        /** When it expires, on the scale of the queue's clock. */
        private long end;

        private @Nullable Runnable expired;
        private @Nullable TimeoutQueue queue;
        /** Of a timeout that does not fit into the queue. */
        private @Nullable Future<?> timer;

        /** The neighbours in the queue. */
        @Nullable
        CallTimeout previous;

        @Nullable
        CallTimeout next;

        /**
         * A timeout that has not started.
         *
         * @param nanos {@link Long#MAX_VALUE} for none
         * @param announced whether the request headers already contain it
         */
        public CallTimeout(long nanos, boolean announced) {
            this.nanos = nanos;
            this.announced = announced;
        }

        public long nanos() {
            return nanos;
        }

        /**
         * Starts the timeout; false if no time is left.
         *
         * @param timeouts of the event loop
         */
        public boolean start(TimeoutQueue timeouts, Runnable whenExpired) {
            if (nanos > 0 && nanos != Long.MAX_VALUE) {
                end = timeouts.now() + nanos;
                expired = whenExpired;
                if (timeouts.add(this)) {
                    queue = timeouts;
                } else {
                    timer = timeouts.loop.schedule(whenExpired, nanos, TimeUnit.NANOSECONDS);
                }
            }
            return nanos > 0;
        }

        /** It has expired: its queue notifies the call. */
        void expire() {
            stop();
            Objects.requireNonNull(expired).run();
        }

        public void stop() {
            if (queue != null) {
                queue.remove(this);
                queue = null;
            } else if (timer != null) {
                timer.cancel(false);
            }
        }

        /** Whether it has expired, which a server that knows the deadline may notice before us. */
        public boolean expired() {
            return expired != null && left() <= 0;
        }

        /** Whether it has started, and the request headers do not contain it. */
        public boolean unannounced() {
            return expired != null && !announced;
        }

        /** The nanoseconds left of a timeout that has started. */
        public long left() {
            return end - System.nanoTime();
        }
    }
}
