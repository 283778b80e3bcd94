package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.net.Transport;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.concurrent.TimeUnit;

/** A listener whose connections count copied bytes. */
public final class CountedIngress implements AutoCloseable {
    public final CountingAllocator copies = new CountingAllocator();
    private final EventLoopGroup loops;
    private final Channel listener;

    public CountedIngress(Transport transport, ListenerContext entry) {
        loops = new MultiThreadIoEventLoopGroup(1, transport.ioHandlerFactory());
        listener = new ServerBootstrap()
                .group(loops)
                .channel(transport.serverChannel())
                .childOption(ChannelOption.ALLOCATOR, copies)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childHandler(new IngressPipelines(entry))
                .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .syncUninterruptibly()
                .channel();
    }

    public int port() {
        return ((InetSocketAddress) listener.localAddress()).getPort();
    }

    public Socket connect() throws java.io.IOException {
        InetSocketAddress address = (InetSocketAddress) listener.localAddress();
        return new Socket(address.getAddress(), address.getPort());
    }

    @Override
    public void close() {
        listener.close().syncUninterruptibly();
        loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }
}
