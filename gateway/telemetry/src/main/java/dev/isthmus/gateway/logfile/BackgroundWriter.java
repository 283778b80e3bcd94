package dev.isthmus.gateway.logfile;

import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread that writes what calls leave for it, so that a slow output delays no call. When it is closed it has five
 * seconds to write what is left. Thread-safe.
 */
public final class BackgroundWriter implements AutoCloseable {
    private static final long CLOSE_MILLIS = 5000;

    private final Thread thread;
    private volatile boolean closed;

    /** @param body of the thread, which ends when this {@linkplain #isClosed() is closed}; not started yet */
    public BackgroundWriter(String name, Runnable body) {
        thread = new DefaultThreadFactory(name, true).newThread(body);
    }

    public void start() {
        thread.start();
    }

    /** Whether the body is to write what is left, and to end. */
    public boolean isClosed() {
        return closed;
    }

    /** Takes a step after each pause, until this is closed, and the last one then. Called by the body. */
    public void repeat(long pauseNanos, Runnable step) {
        boolean last;
        do {
            if (!closed) {
                LockSupport.parkNanos(this, pauseNanos);
            }
            last = closed;
            step.run();
        } while (!last);
    }

    /** Ends a pause. */
    public void wake() {
        LockSupport.unpark(thread);
    }

    /** Waits until the body has ended, for at most five seconds; interrupts it then, and waits once more. Idempotent. */
    @Override
    public void close() {
        closed = true;
        wake();
        try {
            thread.join(CLOSE_MILLIS);
            if (thread.isAlive()) {
                thread.interrupt();
                thread.join(CLOSE_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
