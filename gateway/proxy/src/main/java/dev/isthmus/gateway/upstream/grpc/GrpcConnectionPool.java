package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.UpstreamTransport;
import dev.isthmus.oip.OipException;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The connections to one server from one event loop; used on that loop only. One carries all calls as long as the server
 * lets it; another is made where it does not. One attempt to connect is made at a time, and the calls that wait for it fail
 * with it where there is no other connection.
 */
final class GrpcConnectionPool {
    /** So many calls at once have a large window before their clients have taken anything. */
    private static final int LARGE_WINDOWS = 2;

    private final StatusText texts;
    private final ConnectionRules rules;
    private final EventLoop loop;
    private final ByteBufAllocator allocator;
    private final Bootstrap bootstrap;
    private final AbusePolicy abuse;
    /** Those that take calls, or will when others have ended. */
    private final List<GrpcConnection> ready = new ArrayList<>();
    /** Those whose calls end, and nothing more. */
    private final Set<GrpcConnection> draining = new LinkedHashSet<>();

    private final LinkedHashSet<GrpcCall> waiting = new LinkedHashSet<>();
    private @Nullable GrpcConnection connecting;
    private int largeWindows;
    private boolean closed;

    private GrpcConnectionPool(
            StatusText texts,
            ConnectionRules rules,
            EventLoop loop,
            ByteBufAllocator allocator,
            UpstreamSettings settings) {
        this.texts = texts;
        this.rules = rules;
        this.loop = loop;
        this.allocator = allocator;
        this.abuse = settings.abuse();
        this.bootstrap = UpstreamTransport.of(settings, loop, allocator);
    }

    /** A pool without connections. */
    static GrpcConnectionPool open(
            UpstreamSettings settings,
            StatusText texts,
            ConnectionRules rules,
            EventLoop loop,
            ByteBufAllocator allocator) {
        return new GrpcConnectionPool(texts, rules, loop, allocator, settings);
    }

    /** Whether one more call may have a large window at once; it says when it has ended. */
    boolean largeWindow() {
        boolean free = largeWindows < LARGE_WINDOWS;
        largeWindows += free ? 1 : 0;
        return free;
    }

    /** A call that had a large window at once has ended. */
    void largeWindowEnded() {
        largeWindows--;
    }

    StatusText texts() {
        return texts;
    }

    EventLoop loop() {
        return loop;
    }

    ByteBufAllocator allocator() {
        return allocator;
    }

    /** Sends the call on its way, or lets it wait for one. */
    void acquire(GrpcCall call) {
        if (carried(call)) {
            return;
        }
        if (waiting.size() >= rules.waiting()) {
            call.fail(texts.failures().overloaded(rules.connections()));
            return;
        }
        waiting.add(call);
        connect();
    }

    private boolean carried(GrpcCall call) {
        for (GrpcConnection connection : ready) {
            if (connection.carries(call)) {
                return true;
            }
        }
        return false;
    }

    /** The call needs no connection any more. */
    void forget(GrpcCall call) {
        waiting.remove(call);
    }

    private void connect() {
        if (closed || connecting != null || waiting.isEmpty() || ready.size() >= rules.connections() || unwilling()) {
            return;
        }
        GrpcConnection next = new GrpcConnection(this, rules, abuse);
        connecting = next;
        bootstrap
                .clone()
                .handler(new GrpcChannelInitializer(next))
                .connect()
                .addListener(future -> connected((ChannelFuture) future, next));
    }

    /** Whether the server has a connection on which it takes no call at all: another would not help. */
    private boolean unwilling() {
        for (GrpcConnection connection : ready) {
            if (!connection.used()) {
                return true;
            }
        }
        return false;
    }

    private void connected(ChannelFuture future, GrpcConnection connection) {
        if (!future.isSuccess()) {
            gone(connection, future.cause());
        } else if (closed) {
            connection.close(texts.failures().closed());
        } else {
            connection.awaitSettings();
        }
    }

    /** The server speaks HTTP/2. */
    void ready(GrpcConnection connection) {
        if (connecting != connection) {
            return;
        }
        connecting = null;
        ready.add(connection);
        serveWaiting();
    }

    /** There may be room on a connection. */
    void serveWaiting() {
        while (!waiting.isEmpty()) {
            GrpcCall first = waiting.removeFirst();
            if (!carried(first)) {
                waiting.addFirst(first);
                connect();
                return;
            }
        }
    }

    /** The connection takes no more calls. */
    void drains(GrpcConnection connection) {
        if (ready.remove(connection)) {
            draining.add(connection);
            replace(connection, null);
        }
    }

    /** The connection has ended, or never came about. */
    void gone(GrpcConnection connection, @Nullable Throwable cause) {
        draining.remove(connection);
        if (connecting == connection) {
            connecting = null;
            failedToConnect(cause);
        } else if (ready.remove(connection)) {
            replace(connection, cause);
        }
    }

    /** One that was of no use is not replaced at once: the server would be asked in a circle. */
    private void replace(GrpcConnection connection, @Nullable Throwable cause) {
        if (connection.used()) {
            connect();
        } else {
            failedToConnect(cause);
        }
    }

    private void failedToConnect(@Nullable Throwable cause) {
        if (ready.isEmpty()) {
            failWaiting(
                    () -> closed ? texts.failures().closed() : texts.failures().unreachable(cause));
        }
    }

    private void failWaiting(Supplier<OipException> failure) {
        List<GrpcCall> all = List.copyOf(waiting);
        waiting.clear();
        all.forEach(call -> call.fail(failure.get()));
    }

    /** Ends all calls. */
    void close() {
        closed = true;
        failWaiting(texts.failures()::closed);
        List<GrpcConnection> all = new ArrayList<>(ready);
        all.addAll(draining);
        if (connecting != null) {
            all.add(connecting);
        }
        OipException why = texts.failures().closedUnderWay();
        all.forEach(connection -> connection.close(why));
    }

    /** The channel's handlers. */
    private static final class GrpcChannelInitializer extends ChannelInitializer<Channel> {
        private final GrpcConnection connection;

        GrpcChannelInitializer(GrpcConnection connection) {
            this.connection = connection;
        }

        @Override
        protected void initChannel(Channel channel) {
            connection.join(channel.pipeline());
        }
    }
}
