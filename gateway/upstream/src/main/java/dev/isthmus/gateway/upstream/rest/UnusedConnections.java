package dev.isthmus.gateway.upstream.rest;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The idle connections of a pool. The most recently used one is taken first, so that surplus ones stay and are closed
 * when their time is over. One timer of the event loop serves all; it is not moved when connections are taken. Used on
 * that loop only.
 */
final class UnusedConnections {
    private final Deque<RestConnection> connections = new ArrayDeque<>();
    private final EventLoop loop;
    private final long maxNanos;
    private @Nullable Future<?> timer;

    /** @param maxNanos how long a connection stays idle */
    UnusedConnections(EventLoop loop, long maxNanos) {
        this.loop = loop;
        this.maxNanos = maxNanos;
    }

    void add(RestConnection connection) {
        connections.addLast(connection);
        if (timer == null) {
            schedule(maxNanos);
        }
    }

    /** Removes and returns the most recently used connection; null if there is none. */
    @Nullable
    RestConnection take() {
        return connections.pollLast();
    }

    /** Removes a connection that has ended. */
    void remove(RestConnection connection) {
        connections.remove(connection);
    }

    private void schedule(long nanos) {
        timer = loop.schedule(this::closeExpired, nanos, TimeUnit.NANOSECONDS);
    }

    private void closeExpired() {
        timer = null;
        RestConnection longest = connections.peekFirst();
        while (longest != null && longest.idleNanos() >= maxNanos) {
            connections.removeFirst();
            longest.closeIdle();
            longest = connections.peekFirst();
        }
        if (longest != null) {
            schedule(maxNanos - longest.idleNanos());
        }
    }

    /** Stops the timer. */
    void stop() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
    }
}
