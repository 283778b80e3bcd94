package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.upstream.ConnectionCounts;
import dev.isthmus.gateway.upstream.RemoteServer;
import dev.isthmus.gateway.upstream.RemoteServer.DescribedServer;
import dev.isthmus.gateway.upstream.TimeoutQueue;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.rest.RestRequestSpec.CommonFields;
import dev.isthmus.gateway.upstream.rest.RestUpstream.PoolLimits;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.concurrent.Future;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The connections to one endpoint from one event loop; used on that loop only.
 */
final class RestConnectionPool {
    private final UpstreamSettings settings;
    private final Supplier<CommonFields> common;
    private final Bootstrap bootstrap;
    private final PoolLimits limits;
    private final UpstreamFailures failures;
    private final ConnectionCounts counts;
    private final LongSupplier nanoTime;
    private final UnusedConnections idle;
    private final Deque<RestCall> waiting = new ArrayDeque<>();
    private final Set<RestConnection> connected = new HashSet<>();
    private final TimeoutQueue timeouts;
    private int connecting;
    private boolean closed;

    /**
     * A pool without connections.
     *
     * @param common the fields of a request that is made now
     */
    RestConnectionPool(
            UpstreamSettings settings,
            Supplier<CommonFields> common,
            PoolLimits limits,
            UpstreamFailures failures,
            ConnectionCounts counts,
            EventLoop loop,
            ByteBufAllocator allocator,
            LongSupplier nanoTime) {
        this.settings = settings;
        this.common = common;
        this.bootstrap = RemoteServer.bootstrap(settings, loop, allocator);
        this.limits = limits;
        this.failures = failures;
        this.counts = counts;
        this.nanoTime = nanoTime;
        this.timeouts = new TimeoutQueue(loop, System::nanoTime);
        this.idle = new UnusedConnections(loop, limits.idle().toNanos());
    }

    UpstreamSettings settings() {
        return settings;
    }

    CommonFields common() {
        return common.get();
    }

    long nanoTime() {
        return nanoTime.getAsLong();
    }

    TimeoutQueue timeouts() {
        return timeouts;
    }

    boolean closed() {
        return closed;
    }

    /** Sends the exchange on an idle or a new connection, or queues it. */
    void acquire(RestCall exchange) {
        RestConnection idleConnection = idle.take();
        // A safe request is sent again if its connection was closed.
        while (idleConnection != null && !(exchange.safe() ? idleConnection.active() : idleConnection.open())) {
            idleConnection = idle.take();
        }
        if (idleConnection != null && idleConnection.stale() && !exchange.safe()) {
            sendIfStillOpen(idleConnection, exchange);
        } else if (idleConnection != null) {
            exchange.sendOn(idleConnection);
        } else if (full() && waiting.size() >= limits.waiting()) {
            exchange.fail(failures.overloaded(limits.connections()));
        } else {
            exchange.waits(counts);
            connectOrWait(exchange);
        }
    }

    private void connectOrWait(RestCall exchange) {
        if (full()) {
            waiting.addLast(exchange);
        } else {
            connect(exchange);
        }
    }

    /**
     * Sends the exchange after the loop has polled the sockets once more: servers close idle connections, and a request
     * written to a closed one cannot be retried since it may have been processed.
     */
    private void sendIfStillOpen(RestConnection idleConnection, RestCall exchange) {
        EventLoop loop = idleConnection.loop();
        // A task scheduled by a task runs after the next poll.
        loop.execute(() -> loop.schedule(() -> polled(idleConnection, exchange), 1, TimeUnit.NANOSECONDS));
    }

    private void polled(RestConnection idleConnection, RestCall exchange) {
        if (!exchange.ended() && idleConnection.active()) {
            exchange.sendOn(idleConnection);
        } else if (!exchange.ended()) {
            acquire(exchange);
        } else if (idleConnection.active()) {
            release(idleConnection);
        }
    }

    /** Sends the exchange on a new connection, ahead of all waiting ones. */
    void acquireFresh(RestCall exchange) {
        exchange.waits(counts);
        if (full()) {
            waiting.addFirst(exchange);
        } else {
            connect(exchange);
        }
    }

    private boolean full() {
        return connecting + connected.size() >= limits.connections();
    }

    /** Removes an exchange from the queue. */
    void forget(RestCall exchange) {
        waiting.remove(exchange);
    }

    private void connect(RestCall exchange) {
        connecting++;
        var initializer = new RestChannelInitializer();
        counts.watch(bootstrap.clone().handler(initializer).connect())
                .addListener(future -> tcpConnected((ChannelFuture) future, initializer.connection, exchange));
    }

    /** Over TLS the connection is established when the handshake has ended. */
    private void tcpConnected(ChannelFuture future, @Nullable RestConnection connection, RestCall exchange) {
        SslHandler tls = future.channel().pipeline().get(SslHandler.class);
        if (tls == null || !future.isSuccess()) {
            connected(future, connection, exchange);
        } else {
            tls.handshakeFuture().addListener(handshake -> connected(handshake, connection, exchange));
        }
    }

    private void connected(Future<?> future, @Nullable RestConnection connection, RestCall exchange) {
        connecting--;
        if (!future.isSuccess() || connection == null) {
            connectFailed(future.cause(), exchange);
            return;
        }
        connected.add(connection);
        if (closed) {
            exchange.fail(failures.closed());
            connection.close();
            return;
        }
        if (exchange.ended()) {
            release(connection);
        } else {
            exchange.sendOn(connection);
        }
    }

    private void connectFailed(@Nullable Throwable cause, RestCall exchange) {
        exchange.connectFailed(cause);
        serveWaiting();
    }

    /** Returns a connection that can carry another exchange. */
    void release(RestConnection connection) {
        if (closed) {
            connection.close();
            return;
        }
        RestCall next = waiting.pollFirst();
        if (next == null) {
            idle.add(connection);
        } else {
            next.sendOn(connection);
        }
    }

    void connectionClosed(RestConnection connection) {
        connected.remove(connection);
        idle.remove(connection);
        serveWaiting();
    }

    private void serveWaiting() {
        if (!closed && !full()) {
            RestCall next = waiting.pollFirst();
            if (next != null) {
                connect(next);
            }
        }
    }

    void close() {
        closed = true;
        timeouts.close();
        idle.stop();
        List.copyOf(waiting).forEach(exchange -> exchange.fail(failures.closed()));
        List.copyOf(connected).forEach(RestConnection::close);
    }

    private final class RestChannelInitializer extends ChannelInitializer<Channel> {
        private @Nullable RestConnection connection;

        @Override
        protected void initChannel(Channel channel) {
            if (settings.tls() != null) {
                settings.tls().addHttp1(channel, settings.connectTimeout());
            }
            RestConnection added = new RestConnection(RestConnectionPool.this, channel);
            connection = added;
            settings.connections().add(new DescribedServer(settings, channel, added::use));
            channel.pipeline().addLast(added);
        }
    }

    /**
     * The idle connections of a pool. The most recently used one is taken first, so that surplus ones stay and are closed
     * when their time is over. One timer of the event loop serves all; it is not moved when connections are taken. Used on
     * that loop only.
     */
    private static final class UnusedConnections {
        private final Deque<RestConnection> connections = new ArrayDeque<>();
        private final EventLoop loop;
        private final long maxNanos;
        private @Nullable Future<?> timer;

        /** @param maxNanos how long a connection stays idle */
        UnusedConnections(EventLoop loop, long maxNanos) {
            this.loop = loop;
            this.maxNanos = maxNanos;
        }

        void add(RestConnection connection) {
            connections.addLast(connection);
            if (timer == null) {
                schedule(maxNanos);
            }
        }

        /** Removes and returns the most recently used connection; null if there is none. */
        @Nullable
        RestConnection take() {
            return connections.pollLast();
        }

        /** Removes a connection that has ended. */
        void remove(RestConnection connection) {
            connections.remove(connection);
        }

        private void schedule(long nanos) {
            timer = loop.schedule(this::closeExpired, nanos, TimeUnit.NANOSECONDS);
        }

        private void closeExpired() {
            timer = null;
            RestConnection longest = connections.peekFirst();
            while (longest != null && longest.idleNanos() >= maxNanos) {
                connections.removeFirst();
                longest.closeIdle();
                longest = connections.peekFirst();
            }
            if (longest != null) {
                schedule(maxNanos - longest.idleNanos());
            }
        }

        void stop() {
            if (timer != null) {
                timer.cancel(false);
                timer = null;
            }
        }
    }
}
