package dev.isthmus.gateway.fleet;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Lets a few questions be under way at once; the others wait, in their order. Used on one loop. Who asks sees to it that only
 * so many can wait: each periodic question waits at most once.
 */
public final class ConcurrencyLimiter {
    private final int most;
    private final Deque<Runnable> waiting = new ArrayDeque<>();
    private int underWay;
    private boolean pumping;

    public ConcurrencyLimiter(int most) {
        this.most = most;
    }

    /**
     * Runs a query now or when an earlier one has ended.
     *
     * @param question calls {@link #ended()} exactly once, be it before it returns
     */
    public void ask(Runnable question) {
        waiting.add(question);
        pump();
    }

    public void ended() {
        underWay--;
        pump();
    }

    int waiting() {
        return waiting.size();
    }

    private void pump() {
        if (pumping) {
            return;
        }
        // Questions may be answered before they return: not one within the other.
        pumping = true;
        while (underWay < most && !waiting.isEmpty()) {
            underWay++;
            waiting.remove().run();
        }
        pumping = false;
    }
}
