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
 * What each event loop has of its own: its connections to one upstream. Made when a loop first asks for it.
 *
 * @param <T> used on its loop only
 */
public final class PerLoop<T> implements AutoCloseable {
    private final Map<EventLoop, T> byLoop = new ConcurrentHashMap<>();
    private final Function<EventLoop, T> opening;
    private final Consumer<T> closing;
    private final Supplier<OipException> failure;
    private volatile boolean closed;

    /**
     * Nothing yet.
     *
     * @param closing called on the loop of what it closes
     * @param failure thrown when something is asked for after {@link #close()}
     */
    public PerLoop(Function<EventLoop, T> opening, Consumer<T> closing, Supplier<OipException> failure) {
        this.opening = opening;
        this.closing = closing;
        this.failure = failure;
    }

    /** What the loop has; called on it. */
    public T of(EventLoop loop) {
        T known = closed ? null : byLoop.computeIfAbsent(loop, opening);
        if (known == null) {
            throw failure.get();
        }
        if (closed) {
            // Also what was made while close() went through the map.
            closing.accept(known);
            throw failure.get();
        }
        return known;
    }

    /** Does something with what every loop has; on the caller's thread. */
    public void forEach(Consumer<T> action) {
        byLoop.values().forEach(action);
    }

    @Override
    public void close() {
        closed = true;
        byLoop.forEach(this::close);
    }

    private void close(EventLoop loop, T held) {
        try {
            loop.execute(() -> closing.accept(held));
        } catch (RejectedExecutionException e) {
            // The loop has ended: nothing runs beside this thread.
            closing.accept(held);
        }
    }
}
