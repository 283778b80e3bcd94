package dev.isthmus.gateway.upstream;

import io.netty.util.concurrent.Future;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The timeout of one call. Used on the event loop of the call. */
public final class CallTimeout {
    private final long nanos;
    private final boolean announced;
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

    /** When it expires, on the scale of the queue's clock. */
    long end() {
        return end;
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
                timer = timeouts.loop().schedule(whenExpired, nanos, TimeUnit.NANOSECONDS);
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
