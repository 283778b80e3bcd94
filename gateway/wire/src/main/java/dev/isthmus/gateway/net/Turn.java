package dev.isthmus.gateway.net;

import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.FastThreadLocal;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.TimeUnit;

/**
 * How much of what one connection has read is handled before others on its event loop are: few parts in any case, as many
 * as half a millisecond takes while nobody else's are left over, {@value #MOST} at most. What is left over then is handled
 * in further turns, after whatever else has come to the loop; those of all its connections, in turn, have half a millisecond
 * together. A part is what costs microseconds: a frame, a head, a chunk. Of one connection, used on its loop.
 */
public final class Turn {
    /** Parts that are taken without a look at the clock, as many between two looks. A power of two. */
    private static final int FEW = 8;

    /** The most parts of a turn. */
    static final int MOST = 512;

    /** Of one turn, and of all that are left over between two looks of the loop at its sockets. */
    static final long NANOS = 500_000;

    private final EventExecutor loop;
    private final Runnable rest;
    private int taken;
    private boolean over;
    private long end;

    /**
     * A turn that has not begun.
     *
     * @param rest handles what was left over, within the next turn; also called where nothing was
     */
    public Turn(EventExecutor loop, Runnable rest) {
        this.loop = loop;
        this.rest = rest;
    }

    /** All that was read has been handled, or waits for the next turn. */
    public void readComplete() {
        if (!over) {
            begin();
        }
    }

    /** Begins a turn, though one may be over. */
    public void begin() {
        over = false;
        taken = 0;
    }

    /** Whether nothing more may be taken. What is left over is called for by itself. */
    public boolean over() {
        return over;
    }

    /** One more part has been taken. */
    public void took() {
        taken++;
        if ((taken & FEW - 1) == 0 && !over) {
            look();
        }
    }

    private void look() {
        LeftOver others = LeftOver.of(loop);
        long now = loop.ticker().nanoTime();
        if (taken == FEW && !others.running) {
            end = others.waiting.isEmpty() ? now + NANOS : now;
        }
        if (taken >= MOST || now - (others.running ? others.end : end) >= 0) {
            over = true;
            others.add(this);
        }
    }

    private void goOn() {
        begin();
        rest.run();
        readComplete();
    }

    /** The connections of one loop that have something left over. */
    private static final class LeftOver implements Runnable {
        private static final FastThreadLocal<LeftOver> OF_THREAD = new FastThreadLocal<>();

        private final EventExecutor loop;
        private final Queue<Turn> waiting = new ArrayDeque<>();
        private boolean running;
        private long end;

        LeftOver(EventExecutor loop) {
            this.loop = loop;
        }

        static LeftOver of(EventExecutor loop) {
            LeftOver known = OF_THREAD.getIfExists();
            if (known == null || known.loop != loop) {
                known = new LeftOver(loop);
                OF_THREAD.set(known);
            }
            return known;
        }

        void add(Turn turn) {
            waiting.add(turn);
            if (waiting.size() == 1 && !running) {
                schedule();
            }
        }

        /** A task that is executed would come before what others have sent; one that is due goes behind it. */
        private void schedule() {
            loop.schedule(this, 0, TimeUnit.NANOSECONDS);
        }

        @Override
        public void run() {
            running = true;
            end = loop.ticker().nanoTime() + NANOS;
            try {
                int most = waiting.size();
                do {
                    waiting.remove().goOn();
                    most--;
                } while (most > 0 && loop.ticker().nanoTime() - end < 0);
            } finally {
                running = false;
                if (!waiting.isEmpty()) {
                    schedule();
                }
            }
        }
    }
}
