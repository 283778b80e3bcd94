package dev.isthmus.gateway.fleet;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Limits how many requests are in flight; the others wait in FIFO order. Used on one event loop. The queue is not
 * bounded here: callers bound it, since each periodic probe waits at most once.
 */
public final class ConcurrencyLimiter {
    private final int maxInFlight;
    private final Deque<Runnable> waiting = new ArrayDeque<>();
    private int inFlight;
    private boolean draining;

    public ConcurrencyLimiter(int maxInFlight) {
        this.maxInFlight = maxInFlight;
    }

    /**
     * Runs a request now, or when an earlier one has ended.
     *
     * @param request calls {@link #completed()} exactly once, possibly before it returns
     */
    public void submit(Runnable request) {
        waiting.add(request);
        drain();
    }

    public void completed() {
        inFlight--;
        drain();
    }

    int waiting() {
        return waiting.size();
    }

    private void drain() {
        if (draining) {
            return;
        }
        // A request may end before run() returns: drain in a loop, not recursively.
        draining = true;
        while (inFlight < maxInFlight && !waiting.isEmpty()) {
            inFlight++;
            waiting.remove().run();
        }
        draining = false;
    }
}
