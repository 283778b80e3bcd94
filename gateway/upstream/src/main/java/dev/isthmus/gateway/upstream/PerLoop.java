package dev.isthmus.gateway.upstream;

import dev.isthmus.oip.OipException;
import io.netty.channel.EventLoop;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * One instance per event loop, such as the loop's connections to an upstream. Created on first use.
 *
 * @param <T> used on its loop only
 */
public final class PerLoop<T> implements AutoCloseable {
    private final Map<EventLoop, T> byLoop = new ConcurrentHashMap<>();
    private final Function<EventLoop, T> factory;
    private final Consumer<T> closer;
    private final Supplier<OipException> failure;
    private volatile boolean closed;

    /**
     * Creates no instance yet.
     *
     * @param closer called on the loop of the instance it closes
     * @param failure thrown by {@link #of} after {@link #close()}
     */
    public PerLoop(Function<EventLoop, T> factory, Consumer<T> closer, Supplier<OipException> failure) {
        this.factory = factory;
        this.closer = closer;
        this.failure = failure;
    }

    /** The loop's instance; called on the loop. */
    public T of(EventLoop loop) {
        T instance = closed ? null : byLoop.computeIfAbsent(loop, factory);
        if (instance == null) {
            throw failure.get();
        }
        if (closed) {
            // Also closes an instance that was created while close() iterated over the map.
            closer.accept(instance);
            throw failure.get();
        }
        return instance;
    }

    /** Runs the action for each loop's instance, on the caller's thread. */
    public void forEach(Consumer<T> action) {
        byLoop.values().forEach(action);
    }

    @Override
    public void close() {
        closed = true;
        byLoop.forEach(this::close);
    }

    private void close(EventLoop loop, T instance) {
        try {
            loop.execute(() -> closer.accept(instance));
        } catch (RejectedExecutionException e) {
            // The loop has terminated, so nothing runs concurrently.
            closer.accept(instance);
        }
    }
}
