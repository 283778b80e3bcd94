package dev.isthmus.bench.local;

import java.util.concurrent.CompletableFuture;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * The closed loops of several clients on one event loop: their end time, the latencies of their requests, and failures.
 */
final class LoopGroup {
    private final long begunNanos = System.nanoTime();
    private final long endNanos;
    private final Histogram nanos = Latency.histogram();
    private final CompletableFuture<Figures> ended = new CompletableFuture<>();
    private int clients;

    /**
     * The measured figures.
     *
     * @param perSecond requests per second
     */
    record Figures(double perSecond, Latency latency) {}

    LoopGroup(int clients, double seconds) {
        this.clients = clients;
        this.endNanos = begunNanos + Math.round(seconds * 1e9);
    }

    /** Records the end of a request; returns whether to send another one. */
    boolean next(long sentNanos) {
        long now = System.nanoTime();
        Latency.record(nanos, now - sentNanos);
        if (now - endNanos < 0) {
            return true;
        }
        if (--clients == 0) {
            ended.complete(new Figures(nanos.getTotalCount() / ((now - begunNanos) / 1e9), Latency.of(nanos)));
        }
        return false;
    }

    void failed(String problem, @Nullable Throwable cause) {
        ended.completeExceptionally(new IllegalStateException(problem, cause));
    }

    CompletableFuture<Figures> ended() {
        return ended;
    }
}
