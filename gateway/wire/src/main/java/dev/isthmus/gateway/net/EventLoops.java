package dev.isthmus.gateway.net;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.EventExecutor;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/** The event loops of a gateway: how they start and end. */
public final class EventLoops {
    private static final long QUIET_MILLIS = 0;
    private static final long TIMEOUT_MILLIS = 5_000;
    /** Connections are closed, their handlers are notified, responses are written, and flushed. */
    private static final int TURNS = 4;

    private EventLoops() {}

    /** Two {@link TimedEventLoop}s for each core, or as many as {@code io.netty.eventLoopThreads} says. */
    public static EventLoopGroup start(Transport transport) {
        return start(0, transport.ioHandlerFactory());
    }

    static EventLoopGroup start(int number, IoHandlerFactory handlers) {
        return new MultiThreadIoEventLoopGroup(number, new DefaultThreadFactory("isthmus-loop"), handlers) {
            @Override
            protected IoEventLoop newChild(Executor executor, IoHandlerFactory factory, Object... args) {
                return new TimedEventLoop(this, executor, factory);
            }
        };
    }

    /**
     * Lets each loop run its queued tasks and those they submit: calls that end with their upstream still get a
     * response.
     */
    public static void drain(EventLoopGroup loops) {
        for (int turn = 0; turn < TURNS; turn++) {
            for (EventExecutor loop : loops) {
                loop.submit(() -> {}).awaitUninterruptibly(TIMEOUT_MILLIS);
            }
        }
    }

    /** Has a loop or another thread run a task; false if that has ended, and a loop's connections with it. */
    public static boolean handOver(Executor loop, Runnable task) {
        try {
            loop.execute(task);
            return true;
        } catch (RejectedExecutionException ended) {
            return false;
        }
    }

    /** Ends the loops. Blocks, for five seconds at most. */
    public static void stop(EventLoopGroup loops) {
        loops.shutdownGracefully(QUIET_MILLIS, TIMEOUT_MILLIS, TimeUnit.MILLISECONDS)
                .awaitUninterruptibly(TIMEOUT_MILLIS);
    }
}
