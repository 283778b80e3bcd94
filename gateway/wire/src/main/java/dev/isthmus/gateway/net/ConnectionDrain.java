package dev.isthmus.gateway.net;

import io.netty.channel.Channel;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * The open connections of all clients, and the steps that end them. Each connection receives each step as a user event
 * of its pipeline. Thread-safe.
 */
public final class ConnectionDrain {
    private final Set<Channel> channels = ConcurrentHashMap.newKeySet();
    private final Object changed = new Object();
    private volatile DrainStep step = DrainStep.SERVING;

    /** How far the end of all connections has come. */
    public enum DrainStep {
        SERVING,
        /** Clients are told not to send further requests on the connection; those that they send are served. */
        DRAINING,
        /** Requests that have not ended fail, and connections close. */
        ENDING
    }

    /** A connection was opened; it must check {@link #step} once its pipeline is set up. */
    public void add(Channel channel) {
        channels.add(channel);
        channel.closeFuture().addListener(closed -> {
            channels.remove(channel);
            if (step != DrainStep.SERVING) {
                signal();
            }
        });
    }

    public DrainStep step() {
        return step;
    }

    public boolean draining() {
        return step != DrainStep.SERVING;
    }

    public int open() {
        return channels.size();
    }

    /** Starts a step and notifies all connections. No effect if that step or a later one has started. */
    public synchronized void start(DrainStep next) {
        if (next.compareTo(step) > 0) {
            step = next;
            signal();
            channels.forEach(channel -> channel.pipeline().fireUserEventTriggered(next));
        }
    }

    private void signal() {
        synchronized (changed) {
            changed.notifyAll();
        }
    }

    /** Blocks until {@link DrainStep#ENDING} has started; false after the timeout. */
    public boolean awaitEnding(Duration timeout) throws InterruptedException {
        return await(timeout, () -> step == DrainStep.ENDING);
    }

    /** Blocks until all connections are closed; false after the timeout. To be called after a step has started. */
    public boolean awaitClosed(Duration timeout) throws InterruptedException {
        return await(timeout, channels::isEmpty);
    }

    private boolean await(Duration timeout, BooleanSupplier done) throws InterruptedException {
        long end = System.nanoTime() + timeout.toNanos();
        synchronized (changed) {
            while (!done.getAsBoolean()) {
                long left = end - System.nanoTime();
                if (left <= 0) {
                    return false;
                }
                TimeUnit.NANOSECONDS.timedWait(changed, left);
            }
            return true;
        }
    }
}
