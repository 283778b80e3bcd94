package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.upstream.RemoteServer.ConnectionPool;
import dev.isthmus.gateway.upstream.rest.RestRequestSpec.CommonFields;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoop;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.concurrent.Future;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The connections to one endpoint from one event loop; used on that loop only. Of those that are idle, the most recently
 * used one is taken first, so that surplus ones stay and are closed when their time is over. One timer serves all; it is
 * not moved when connections are taken.
 */
final class RestConnectionPool extends ConnectionPool {
    private final RestUpstream server;
    private final Deque<RestConnection> idle = new ArrayDeque<>();
    private final Deque<RestCall> waiting = new ArrayDeque<>();
    private final Set<RestConnection> connected = new HashSet<>();
    private int connecting;
    private @Nullable Future<?> idleTimer;

    /** A pool without connections. */
    RestConnectionPool(RestUpstream server, EventLoop loop) {
        super(server, loop);
        this.server = server;
    }

    CommonFields common() {
        return server.common();
    }

    long nanoTime() {
        return server.nanoTime();
    }

    /** Sends the exchange on an idle or a new connection, or queues it. */
    void acquire(RestCall exchange) {
        RestConnection idleConnection = idle.pollLast();
        // A safe request is sent again if its connection was closed.
        while (idleConnection != null && !(exchange.safe() ? idleConnection.active() : idleConnection.open())) {
            idleConnection = idle.pollLast();
        }
        if (closed()) {
            exchange.fail(failures().closed());
        } else if (idleConnection != null && idleConnection.stale() && !exchange.safe()) {
            sendIfStillOpen(idleConnection, exchange);
        } else if (idleConnection != null) {
            exchange.sendOn(idleConnection);
        } else if (full() && waiting.size() >= server.limits().waiting()) {
            exchange.fail(failures().overloaded(server.limits().connections()));
        } else {
            exchange.waits(counts());
            if (full()) {
                waiting.addLast(exchange);
            } else {
                connect(exchange);
            }
        }
    }

    /**
     * Sends the exchange after the loop has polled the sockets once more: servers close idle connections, and a request
     * written to a closed one cannot be retried since it may have been processed.
     */
    private void sendIfStillOpen(RestConnection idleConnection, RestCall exchange) {
        // A task scheduled by a task runs after the next poll.
        loop().execute(() -> loop().schedule(() -> polled(idleConnection, exchange), 1, TimeUnit.NANOSECONDS));
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
        exchange.waits(counts());
        if (full()) {
            waiting.addFirst(exchange);
        } else {
            connect(exchange);
        }
    }

    private boolean full() {
        return connecting + connected.size() >= server.limits().connections();
    }

    /** Removes an exchange from the queue. */
    void forget(RestCall exchange) {
        waiting.remove(exchange);
    }

    private void connect(RestCall exchange) {
        connecting++;
        connect(this::initialize).addListener(future -> tcpConnected((ChannelFuture) future, exchange));
    }

    private void initialize(Channel channel) {
        if (settings().tls() != null) {
            settings().tls().addHttp1(channel, settings().connectTimeout());
        }
        RestConnection added = new RestConnection(this, channel);
        opening(channel, added::use);
        channel.pipeline().addLast(added);
    }

    /** Over TLS the connection is established when the handshake has ended. */
    private void tcpConnected(ChannelFuture future, RestCall exchange) {
        ChannelPipeline pipeline = future.channel().pipeline();
        RestConnection connection = pipeline.get(RestConnection.class);
        SslHandler tls = pipeline.get(SslHandler.class);
        if (tls == null || !future.isSuccess()) {
            connected(future, connection, exchange);
        } else {
            tls.handshakeFuture().addListener(handshake -> connected(handshake, connection, exchange));
        }
    }

    private void connected(Future<?> future, @Nullable RestConnection connection, RestCall exchange) {
        connecting--;
        if (!future.isSuccess() || connection == null) {
            exchange.connectFailed(future.cause());
            serveWaiting();
            return;
        }
        connected.add(connection);
        if (closed()) {
            exchange.fail(failures().closed());
            connection.close();
            return;
        }
        if (exchange.ended()) {
            release(connection);
        } else {
            exchange.sendOn(connection);
        }
    }

    /** Returns a connection that can carry another exchange. */
    void release(RestConnection connection) {
        if (closed()) {
            connection.close();
            return;
        }
        RestCall next = waiting.pollFirst();
        if (next == null) {
            idle.addLast(connection);
            if (idleTimer == null) {
                scheduleIdle(server.limits().idle().toNanos());
            }
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
        if (!closed() && !full()) {
            RestCall next = waiting.pollFirst();
            if (next != null) {
                connect(next);
            }
        }
    }

    private void scheduleIdle(long nanos) {
        idleTimer = loop().schedule(this::closeExpired, nanos, TimeUnit.NANOSECONDS);
    }

    private void closeExpired() {
        idleTimer = null;
        long maxNanos = server.limits().idle().toNanos();
        RestConnection longest = idle.peekFirst();
        while (longest != null && longest.idleNanos() >= maxNanos) {
            idle.removeFirst();
            longest.closeIdle();
            longest = idle.peekFirst();
        }
        if (longest != null) {
            scheduleIdle(maxNanos - longest.idleNanos());
        }
    }

    @Override
    protected void closeAll() {
        if (idleTimer != null) {
            idleTimer.cancel(false);
            idleTimer = null;
        }
        List.copyOf(waiting).forEach(exchange -> exchange.fail(failures().closed()));
        List.copyOf(connected).forEach(RestConnection::close);
    }
}
