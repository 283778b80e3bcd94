package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.net.ConnectionDescription.ConnectionSide;
import dev.isthmus.gateway.net.ConnectionDescription.ConnectionUse;
import dev.isthmus.gateway.net.DescribedConnection;
import dev.isthmus.gateway.net.EventLoops;
import dev.isthmus.gateway.net.PackedReadAllocator;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.resolver.NoopAddressResolverGroup;
import io.netty.util.concurrent.PromiseNotifier;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A server that is called over the network. Each event loop has its own connections to it, so that a call never leaves
 * its loop. A reply may be called before {@link #send} returns.
 *
 * @param <P> the connections of one event loop
 */
public abstract class RemoteServer<P extends RemoteServer.ConnectionPool> implements Upstream {
    private static final PackedReadAllocator READS =
            new PackedReadAllocator(new AdaptiveRecvByteBufAllocator(1024, 16 * 1024, 128 * 1024));

    private final Wire wire;
    private final UpstreamSettings settings;
    private final ServerCapabilities capabilities;
    private final UpstreamFailures failures;
    private final ByteBufAllocator allocator;
    private final ConnectionCounts connections = new ConnectionCounts();
    private final Map<EventLoop, P> pools = new ConcurrentHashMap<>();
    private volatile boolean closed;

    /**
     * Opens no connection: the first call of each event loop does.
     *
     * @param capabilities shared with the other servers of the upstream
     * @param allocator of the connections' buffers
     */
    protected RemoteServer(
            Wire wire, UpstreamSettings settings, ServerCapabilities capabilities, ByteBufAllocator allocator) {
        this.wire = wire;
        this.settings = settings;
        this.capabilities = capabilities;
        this.allocator = allocator;
        this.failures = new UpstreamFailures(settings.name(), settings.ending());
    }

    /** The connections of an event loop, none of which is open yet. */
    protected abstract P createPool(EventLoop loop);

    /**
     * The connections of a call's event loop; called on it.
     *
     * @throws OipException after {@link #close()}
     */
    protected final P pool(EventLoop loop) {
        P pool = pools.get(loop);
        if (pool == null && !closed) {
            pool = pools.computeIfAbsent(loop, this::createPool);
        }
        if (pool != null && closed) {
            // Also closes a pool that was created while close() iterated over the map.
            pool.close();
        }
        if (pool == null || closed) {
            throw failures.closed();
        }
        return pool;
    }

    protected final UpstreamSettings settings() {
        return settings;
    }

    @Override
    public final ServerCapabilities capabilities() {
        return capabilities;
    }

    protected final UpstreamFailures failures() {
        return failures;
    }

    @Override
    public final String name() {
        return settings.name();
    }

    @Override
    public final ConnectionCounts connections() {
        return connections;
    }

    @Override
    public final ServerFeatures peer() {
        return capabilities.peer(wire);
    }

    @Override
    public final void close() {
        closed = true;
        pools.forEach(this::close);
    }

    private void close(EventLoop loop, P pool) {
        if (!EventLoops.handOver(loop, pool::close)) {
            // Nothing runs concurrently.
            pool.close();
        }
    }

    /** The connections to a server from one event loop; used on that loop only. */
    public abstract static class ConnectionPool {
        private final RemoteServer<?> server;
        private final EventLoop loop;
        private final Bootstrap bootstrap;
        private final TimeoutQueue timeouts;
        private boolean closed;

        protected ConnectionPool(RemoteServer<?> server, EventLoop loop) {
            this.server = server;
            this.loop = loop;
            this.bootstrap = bootstrap();
            this.timeouts = new TimeoutQueue(loop, System::nanoTime);
        }

        private Bootstrap bootstrap() {
            Transport transport = Transport.of(loop);
            SocketAddress address = settings().endpoint().address();
            Bootstrap complete = new Bootstrap()
                    .group(loop)
                    .channel(transport.clientChannel(address))
                    .resolver(NoopAddressResolverGroup.INSTANCE)
                    .remoteAddress(transport.address(address))
                    .option(ChannelOption.ALLOCATOR, server.allocator)
                    .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, settings().connectTimeoutMillis())
                    .option(ChannelOption.RECVBUF_ALLOCATOR, READS);
            return address instanceof InetSocketAddress
                    ? complete.option(ChannelOption.TCP_NODELAY, true).option(ChannelOption.SO_KEEPALIVE, true)
                    : complete;
        }

        /** Opens a connection, whose pipeline is initialized by this. The result is told on the loop. */
        protected final ChannelFuture connect(Consumer<Channel> initializer) {
            ChannelFuture connecting = server.connections.watch(bootstrap
                    .clone()
                    .handler(new ChannelInitializer<>() {
                        @Override
                        protected void initChannel(Channel channel) {
                            initializer.accept(channel);
                        }
                    })
                    .connect());
            // Without a channel, as with too many open files, another thread of Netty's would tell it.
            var told = new DefaultChannelPromise(connecting.channel(), loop);
            PromiseNotifier.cascade(connecting, told);
            return told;
        }

        /** Lists a connection that is being opened. */
        public final void opening(Channel channel, Supplier<ConnectionUse> use) {
            settings()
                    .connections()
                    .add(new DescribedConnection(
                            channel,
                            ConnectionSide.SERVER,
                            settings().name(),
                            settings().endpoint()::address,
                            use,
                            System.nanoTime()));
        }

        final void close() {
            closed = true;
            closeAll();
            timeouts.close();
        }

        /** Fails all calls and closes all connections; called possibly more than once. */
        protected abstract void closeAll();

        public final boolean closed() {
            return closed;
        }

        public final UpstreamSettings settings() {
            return server.settings;
        }

        public final UpstreamFailures failures() {
            return server.failures;
        }

        public final ConnectionCounts counts() {
            return server.connections;
        }

        public final EventLoop loop() {
            return loop;
        }

        public final ByteBufAllocator allocator() {
            return server.allocator;
        }

        public final TimeoutQueue timeouts() {
            return timeouts;
        }
    }
}
