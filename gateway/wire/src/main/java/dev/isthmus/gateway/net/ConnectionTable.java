package dev.isthmus.gateway.net;

import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/** All open connections, to clients and to servers, in the order in which they were opened. Thread-safe. */
public final class ConnectionTable {
    private final AtomicLong last = new AtomicLong();
    private final ConcurrentNavigableMap<Long, DescribedConnection> open = new ConcurrentSkipListMap<>();

    /**
     * Some of the connections.
     *
     * @param byNumber in the order of their numbers; those that were closed meanwhile are missing
     * @param silent how many are on event loops that did not respond in time
     * @param next the number to continue after; 0 if there are no more
     */
    public record ConnectionPage(SortedMap<Long, ConnectionDescription> byNumber, int silent, long next) {}

    /** Adds a connection until it is closed. */
    public void add(DescribedConnection connection) {
        long number = last.incrementAndGet();
        open.put(number, connection);
        connection.channel().closeFuture().addListener(closed -> open.remove(number));
    }

    public int size() {
        return open.size();
    }

    /**
     * Describes connections. Blocks until their event loops have responded; must not be called on one.
     *
     * @param after the number of the connection before the first one; 0 for the beginning
     * @param most how many at most
     * @param timeout for all event loops together
     */
    public ConnectionPage page(long after, int most, Duration timeout) throws InterruptedException {
        Map<EventLoop, Map<Long, DescribedConnection>> byLoop = new HashMap<>();
        int taken = 0;
        long lastTaken = 0;
        for (Map.Entry<Long, DescribedConnection> each :
                open.tailMap(after, false).entrySet()) {
            if (taken == most) {
                return described(byLoop, timeout, lastTaken);
            }
            lastTaken = each.getKey();
            taken++;
            byLoop.computeIfAbsent(each.getValue().channel().eventLoop(), loop -> new TreeMap<>())
                    .put(lastTaken, each.getValue());
        }
        return described(byLoop, timeout, 0);
    }

    private static ConnectionPage described(
            Map<EventLoop, Map<Long, DescribedConnection>> byLoop, Duration timeout, long next)
            throws InterruptedException {
        List<PendingLoop> pending = new ArrayList<>();
        byLoop.forEach((loop, connections) -> pending.add(describe(loop, connections)));
        long end = System.nanoTime() + timeout.toNanos();
        SortedMap<Long, ConnectionDescription> described = new TreeMap<>();
        int silent = 0;
        for (PendingLoop each : pending) {
            try {
                described.putAll(each.result().get(end - System.nanoTime(), TimeUnit.NANOSECONDS));
            } catch (ExecutionException | TimeoutException e) {
                silent += each.connections();
            }
        }
        return new ConnectionPage(described, silent, next);
    }

    /** The connections of one event loop, which describes them. */
    private record PendingLoop(int connections, CompletableFuture<Map<Long, ConnectionDescription>> result) {}

    private static PendingLoop describe(EventLoop loop, Map<Long, DescribedConnection> connections) {
        CompletableFuture<Map<Long, ConnectionDescription>> result = new CompletableFuture<>();
        try {
            loop.execute(() -> {
                Map<Long, ConnectionDescription> described = new HashMap<>();
                try {
                    connections.forEach((number, each) -> {
                        if (each.channel().isOpen()) {
                            described.put(number, each.describe());
                        }
                    });
                    result.complete(described);
                } catch (RuntimeException fault) {
                    result.completeExceptionally(fault);
                }
            });
        } catch (RejectedExecutionException ended) {
            result.completeExceptionally(ended);
        }
        return new PendingLoop(connections.size(), result);
    }
}
