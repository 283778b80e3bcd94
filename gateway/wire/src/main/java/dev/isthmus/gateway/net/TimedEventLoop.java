package dev.isthmus.gateway.net;

import io.netty.channel.IoEventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.SingleThreadIoEventLoop;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * An event loop that counts its turns by their length. A turn begins when the wait for sockets, timers and tasks has
 * ended, and ends when the loop is about to wait again. Only the loop writes the counts; any thread may read them.
 */
public final class TimedEventLoop extends SingleThreadIoEventLoop {
    private static final double[] BOUNDS = {
        50e-6, 100e-6, 200e-6, 300e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 25e-3, 100e-3, Double.POSITIVE_INFINITY
    };

    /** The number of turns in each bucket, and the nanoseconds of all. */
    private final AtomicLongArray counts = new AtomicLongArray(BOUNDS.length + 1);

    private boolean turning;
    private long began;

    TimedEventLoop(IoEventLoopGroup parent, Executor executor, IoHandlerFactory handlers) {
        super(parent, executor, handlers);
    }

    /** Upper bounds of the buckets in seconds, ascending; the last is infinite. */
    public static double[] bounds() {
        return BOUNDS.clone();
    }

    @Override
    protected int runIo() {
        if (turning) {
            turning = false;
            count(System.nanoTime() - began);
        }
        return super.runIo();
    }

    /** Called after each wait, when what was ready has been handled in so many nanoseconds; tasks follow. */
    @Override
    protected void reportActiveIoTime(long nanos) {
        turning = true;
        began = System.nanoTime() - nanos;
    }

    private void count(long nanos) {
        int bucket = 0;
        while (nanos > BOUNDS[bucket] * 1e9) {
            bucket++;
        }
        add(bucket, 1);
        add(BOUNDS.length, nanos);
    }

    private void add(int index, long more) {
        counts.setOpaque(index, counts.getPlain(index) + more);
    }

    /**
     * Adds the number of turns in each bucket since the start to these, and returns the length of all turns.
     *
     * @param turns as many as there are bounds
     * @return in seconds
     */
    public double addTo(long[] turns) {
        for (int i = 0; i < BOUNDS.length; i++) {
            turns[i] += counts.getOpaque(i);
        }
        return counts.getOpaque(BOUNDS.length) / 1e9;
    }
}
