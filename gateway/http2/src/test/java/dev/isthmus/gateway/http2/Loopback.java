package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.net.Transport;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** Real sockets on one event loop. */
final class Loopback implements AutoCloseable {
    private final Transport transport = Transport.best();
    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, transport.ioHandlerFactory());

    int listen(Supplier<ChannelHandler> handler) {
        Channel channel = new ServerBootstrap()
                .group(loops)
                .channel(transport.serverChannel())
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel accepted) {
                        accepted.pipeline().addLast(handler.get());
                    }
                })
                .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .syncUninterruptibly()
                .channel();
        return ((InetSocketAddress) channel.localAddress()).getPort();
    }

    Channel connect(int port, ChannelHandler handler) {
        return new Bootstrap()
                .group(loops)
                .channel(transport.clientChannel())
                .handler(handler)
                .connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
                .syncUninterruptibly()
                .channel();
    }

    /** Runs a task on the event loop and waits for its result. */
    <T> T call(Supplier<T> work) {
        return CompletableFuture.supplyAsync(work, loops.next()).join();
    }

    void run(Runnable work) {
        CompletableFuture.runAsync(work, loops.next()).join();
    }

    @Override
    public void close() {
        loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }
}
