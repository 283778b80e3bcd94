package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.net.Transport;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import java.net.InetSocketAddress;

/** A listening port. */
public final class IngressServer implements AutoCloseable {
    private static final int BACKLOG = 1024;

    private final Channel channel;
    private final IngressPipelines pipelines;

    private IngressServer(Channel channel, IngressPipelines pipelines) {
        this.channel = channel;
        this.pipelines = pipelines;
    }

    /**
     * Binds and accepts. Blocks until the port is bound.
     *
     * @param allocator of the connections' buffers
     * @throws Exception if the port cannot be bound
     */
    public static IngressServer listen(
            Transport transport,
            EventLoopGroup loops,
            ByteBufAllocator allocator,
            InetSocketAddress address,
            ListenerContext listener)
            throws Exception {
        IngressPipelines pipelines = new IngressPipelines(listener);
        Channel channel = new ServerBootstrap()
                .group(loops)
                .channel(transport.serverChannel())
                .option(ChannelOption.SO_BACKLOG, BACKLOG)
                .option(ChannelOption.SO_REUSEADDR, true)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childOption(ChannelOption.ALLOCATOR, allocator)
                .childHandler(pipelines)
                .bind(address)
                .sync()
                .channel();
        return new IngressServer(channel, pipelines);
    }

    /** Sets the context of the connections that are accepted from now on. */
    public void use(ListenerContext listener) {
        pipelines.use(listener);
    }

    public InetSocketAddress address() {
        return (InetSocketAddress) channel.localAddress();
    }

    /** Stops accepting; open connections stay. */
    @Override
    public void close() {
        channel.close().syncUninterruptibly();
    }
}
