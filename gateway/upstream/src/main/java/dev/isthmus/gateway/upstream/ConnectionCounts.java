package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.net.Labelled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.ConnectTimeoutException;
import java.io.IOException;
import java.net.ConnectException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** Counts the connections to one server, and the calls that wait for one. Thread-safe. */
public final class ConnectionCounts {
    private final AtomicInteger open = new AtomicInteger();
    private final LongAdder opened = new LongAdder();
    private final AtomicLongArray closed = new AtomicLongArray(ServerCloseCause.values().length);
    private final AtomicLongArray failed = new AtomicLongArray(ConnectFailure.values().length);
    private final AtomicInteger waiting = new AtomicInteger();
    private final DurationSum waits = new DurationSum();

    /** A number of durations and their sum. Thread-safe. */
    public static final class DurationSum {
        private final LongAdder count = new LongAdder();
        private final LongAdder nanos = new LongAdder();

        /** Adds one of so many nanoseconds. */
        public void add(long took) {
            count.increment();
            nanos.add(took);
        }

        public long count() {
            return count.sum();
        }

        public long nanos() {
            return nanos.sum();
        }
    }

    /** Why a connection to a server was closed. */
    public enum ServerCloseCause implements Labelled {
        /** The server closed or reset it, or announced that it would. */
        SERVER,
        /** It was not used for a while. */
        IDLE,
        /** The server did not answer a PING. */
        UNRESPONSIVE,
        /** The gateway closed it for another reason: a call was cancelled, or the server violated the protocol. */
        GATEWAY
    }

    /** Why a TCP connection could not be established. */
    public enum ConnectFailure implements Labelled {
        REFUSED,
        TIMEOUT,
        OTHER;

        private static ConnectFailure of(@Nullable Throwable cause) {
            return switch (cause) {
                case ConnectTimeoutException timeout -> TIMEOUT;
                case ConnectException refused -> REFUSED;
                case null, default -> OTHER;
            };
        }
    }

    /** Counts a connection that is being established, and its end. */
    public ChannelFuture watch(ChannelFuture connecting) {
        return connecting.addListener(future -> {
            if (future.isSuccess()) {
                opened(connecting.channel());
            } else if (!future.isCancelled()) {
                failed.incrementAndGet(index(ConnectFailure.of(future.cause())));
            }
        });
    }

    private void opened(Channel channel) {
        opened.increment();
        open.incrementAndGet();
        CloseObserver observer = new CloseObserver();
        channel.pipeline().addFirst(observer);
        channel.closeFuture().addListener(end -> {
            open.decrementAndGet();
            ServerCloseCause cause = observer.cause;
            closed.incrementAndGet(index(cause == null ? ServerCloseCause.SERVER : cause));
        });
    }

    /** Records why a connection is about to be closed; only the first cause counts. */
    public static void closing(Channel channel, ServerCloseCause cause) {
        CloseObserver observer = channel.pipeline().get(CloseObserver.class);
        if (observer != null && observer.cause == null) {
            observer.cause = cause;
        }
    }

    /** Records who closes the connection. Used on the channel's event loop. */
    private static final class CloseObserver extends ChannelDuplexHandler {
        private @Nullable ServerCloseCause cause;

        @Override
        public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
            if (cause == null) {
                cause = ServerCloseCause.GATEWAY;
            }
            ctx.close(promise);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable failure) {
            if (cause == null && failure instanceof IOException) {
                cause = ServerCloseCause.SERVER;
            }
            ctx.fireExceptionCaught(failure);
        }
    }

    /** A call waits for a connection. */
    public void waitBegan() {
        waiting.incrementAndGet();
    }

    /** A call no longer waits: it has a connection, or has failed. */
    public void waitEnded(long nanos) {
        waiting.decrementAndGet();
        waits.add(Math.max(0, nanos));
    }

    /** The number of open connections. */
    public int open() {
        return open.get();
    }

    /** The number of connections that were established. */
    public long opened() {
        return opened.sum();
    }

    /** The number of connections that were closed for this cause. */
    public long closed(ServerCloseCause cause) {
        return closed.get(index(cause));
    }

    /** The number of connections that could not be established for this reason. */
    public long failed(ConnectFailure reason) {
        return failed.get(index(reason));
    }

    /** The number of calls that wait for a connection. */
    public int waiting() {
        return waiting.get();
    }

    /** How long calls have waited for a connection. */
    public DurationSum waits() {
        return waits;
    }

    @SuppressWarnings("EnumOrdinal") // indexes an array that lives as long as the enum
    private static int index(Enum<?> value) {
        return value.ordinal();
    }
}
