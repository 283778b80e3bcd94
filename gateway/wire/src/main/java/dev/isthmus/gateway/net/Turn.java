package dev.isthmus.gateway.net;

import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.FastThreadLocal;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.TimeUnit;

/**
 * Limits how much received data of one connection is handled before the other connections of its event loop. A turn
 * always handles a few parts; it continues for up to 150 µs and {@value #MOST} parts while no other connection has data
 * left over. Data left over is handled in later turns, after other events of the loop; the turns of all connections with
 * data left over share 150 µs. A part is work of some microseconds: a frame, a request head, a chunk. One instance per
 * connection, used on its event loop.
 */
public final class Turn {
    /** Parts handled between two checks of the clock. A power of two. */
    private static final int FEW = 8;

    /** Maximum number of parts in a turn. */
    static final int MOST = 512;

    /** Bytes of content that cost about as much as one part. */
    private static final int BYTES = 8 << 10;

    /** Time limit of one turn, and of all left-over turns between two polls of the loop's sockets. */
    static final long NANOS = 150_000;

    private final EventExecutor loop;
    private final Runnable rest;
    private int taken;
    private boolean over;
    /** Whether the end of the turn was set. */
    private boolean timed;

    private long end;

    /**
     * A turn that has not begun.
     *
     * @param rest handles left-over data in the next turn; may be called without any
     */
    public Turn(EventExecutor loop, Runnable rest) {
        this.loop = loop;
        this.rest = rest;
    }

    /** The read loop has completed: everything was handled or is left over for the next turn. */
    public void readComplete() {
        if (!over) {
            begin();
        }
    }

    /** Begins a new turn, even if the last one is over. */
    public void begin() {
        over = false;
        timed = false;
        taken = 0;
    }

    /** Whether the turn is over. Left-over data is then handled by {@code rest} in a later turn. */
    public boolean over() {
        return over;
    }

    /** One more part was handled. */
    public void took() {
        took(1);
    }

    /** Content was handled. It counts as one part for each 8 KiB, since it may have been parsed. */
    public void tookBytes(int bytes) {
        took(bytes / BYTES);
    }

    /** Called before costly work: ends the turn if other connections have data left over. */
    public void giveWay() {
        LeftOver others = LeftOver.of(loop);
        if (!over && !others.running && !others.waiting.isEmpty()) {
            over = true;
            others.add(this);
        }
    }

    public void took(int parts) {
        int before = taken;
        taken += parts;
        if ((taken ^ before) >= FEW && !over) {
            look();
        }
    }

    private void look() {
        LeftOver others = LeftOver.of(loop);
        long now = loop.ticker().nanoTime();
        if (!timed) {
            timed = true;
            end = others.running ? others.end : others.waiting.isEmpty() ? now + NANOS : now;
        }
        if (taken >= MOST || now - end >= 0) {
            over = true;
            others.add(this);
        }
    }

    private void goOn() {
        begin();
        rest.run();
        readComplete();
    }

    /** The connections of one event loop with data left over. */
    private static final class LeftOver implements Runnable {
        private static final FastThreadLocal<LeftOver> PER_THREAD = new FastThreadLocal<>();

        private final EventExecutor loop;
        private final Queue<Turn> waiting = new ArrayDeque<>();
        private boolean running;
        private long end;

        LeftOver(EventExecutor loop) {
            this.loop = loop;
        }

        static LeftOver of(EventExecutor loop) {
            LeftOver known = PER_THREAD.getIfExists();
            if (known == null || known.loop != loop) {
                known = new LeftOver(loop);
                PER_THREAD.set(known);
            }
            return known;
        }

        void add(Turn turn) {
            waiting.add(turn);
            if (waiting.size() == 1 && !running) {
                schedule();
            }
        }

        /** A plain task would run before the sockets are polled again; a scheduled one runs after them. */
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
