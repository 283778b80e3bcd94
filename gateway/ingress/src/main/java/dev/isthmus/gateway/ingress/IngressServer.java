package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.net.AcceptFailures;
import dev.isthmus.gateway.net.Transport;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MaxMessagesRecvByteBufAllocator;
import io.netty.channel.SingleThreadEventLoop;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.concurrent.TimeUnit;

/** A listening port, or Unix socket. */
public final class IngressServer implements AutoCloseable {
    private static final int BACKLOG = 1024;

    /** Interval at which the queue of connections that wait to be accepted is checked before closing. */
    private static final long CHECK_MILLIS = 2;
    /** Maximum time for that queue to become empty, if new connections keep arriving. */
    private static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final Channel channel;
    private final AcceptCounter accepted;
    private final IngressPipelines pipelines;

    private IngressServer(Channel channel, AcceptCounter accepted, IngressPipelines pipelines) {
        this.channel = channel;
        this.accepted = accepted;
        this.pipelines = pipelines;
    }

    /** Counts the connections of a listening channel, on its event loop. */
    private static final class AcceptCounter extends AcceptFailures {
        private long count;

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object connection) {
            count++;
            ctx.fireChannelRead(connection);
        }
    }

    /**
     * Binds and accepts, as {@link #bind} and {@link #accept} do.
     *
     * @throws Exception if the port cannot be bound
     */
    public static IngressServer listen(
            Transport transport,
            EventLoopGroup loops,
            ByteBufAllocator allocator,
            InetSocketAddress address,
            ListenerContext listener)
            throws Exception {
        IngressServer server = bind(transport, loops, allocator, address, listener);
        server.accept();
        return server;
    }

    /**
     * Binds; clients wait until {@link #accept}. Blocks until the port is bound.
     *
     * @param allocator of the connections' buffers
     * @throws Exception if the port cannot be bound
     */
    static IngressServer bind(
            Transport transport,
            EventLoopGroup loops,
            ByteBufAllocator allocator,
            SocketAddress address,
            ListenerContext listener)
            throws Exception {
        AcceptCounter accepted = new AcceptCounter();
        IngressPipelines pipelines = new IngressPipelines(listener);
        ServerBootstrap bootstrap = new ServerBootstrap()
                .group(loops)
                .channel(transport.serverChannel(address))
                .option(ChannelOption.SO_BACKLOG, BACKLOG)
                .option(ChannelOption.AUTO_READ, false)
                .childOption(ChannelOption.ALLOCATOR, allocator)
                .handler(accepted)
                .childHandler(pipelines);
        if (address instanceof InetSocketAddress) {
            bootstrap.option(ChannelOption.SO_REUSEADDR, true).childOption(ChannelOption.TCP_NODELAY, true);
        }
        Channel channel = bootstrap.bind(transport.address(address)).sync().channel();
        return new IngressServer(channel, accepted, pipelines);
    }

    /** Accepts connections from now on. */
    void accept() {
        channel.config().setAutoRead(true);
    }

    /** Sets the context of the connections that are accepted from now on. */
    public void use(ListenerContext listener) {
        pipelines.use(listener);
    }

    /** Where it listens; not for a Unix socket. */
    public InetSocketAddress address() {
        return (InetSocketAddress) channel.localAddress();
    }

    /**
     * Stops accepting; open connections stay. Connections that the kernel has established already are accepted before, as
     * they would be reset. Blocks, for about two seconds at most.
     */
    @Override
    public void close() {
        // A busy event loop closes long after it has accepted the last time.
        Transport.ignoreConnects(channel);
        channel.eventLoop().execute(() -> {
            if (channel.config().getRecvByteBufAllocator() instanceof MaxMessagesRecvByteBufAllocator turn) {
                // All at once, not a few in each turn: the event loop may have many other connections.
                turn.maxMessagesPerRead(BACKLOG);
            }
            closeAfter(accepted.count, System.nanoTime());
        });
        channel.closeFuture().syncUninterruptibly();
    }

    /** Closes when no connection was accepted since the last check. */
    private void closeAfter(long before, long since) {
        Runnable check = () -> {
            if (accepted.count == before || System.nanoTime() - since > MAX_NANOS) {
                channel.close();
            } else {
                closeAfter(accepted.count, since);
            }
        };
        channel.eventLoop().schedule(() -> afterPoll(check), CHECK_MILLIS, TimeUnit.MILLISECONDS);
    }

    /**
     * Runs a task when the event loop has polled its sockets again. On a busy machine the time of a scheduled task may
     * come before that.
     */
    private void afterPoll(Runnable task) {
        EventLoop loop = channel.eventLoop();
        if (loop instanceof SingleThreadEventLoop one) {
            one.executeAfterEventLoopIteration(() -> loop.execute(task));
        } else {
            loop.execute(task);
        }
    }
}
