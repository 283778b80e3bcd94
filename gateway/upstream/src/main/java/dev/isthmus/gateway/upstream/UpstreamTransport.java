package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.net.PackedReadAllocator;
import dev.isthmus.gateway.net.Transport;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.resolver.NoopAddressResolverGroup;
import java.net.InetSocketAddress;
import java.net.SocketAddress;

/** Channel options of connections to servers, independent of the protocol. */
public final class UpstreamTransport {
    private static final PackedReadAllocator READS =
            new PackedReadAllocator(new AdaptiveRecvByteBufAllocator(1024, 16 * 1024, 512 * 1024));

    private UpstreamTransport() {}

    /** A bootstrap for connections to a server from one event loop, complete except for the handler. */
    public static Bootstrap of(UpstreamSettings settings, EventLoop loop, ByteBufAllocator allocator) {
        Transport transport = Transport.of(loop);
        SocketAddress address = settings.endpoint().address();
        Bootstrap bootstrap = new Bootstrap()
                .group(loop)
                .channel(transport.clientChannel(address))
                .resolver(NoopAddressResolverGroup.INSTANCE)
                .remoteAddress(transport.address(address))
                .option(ChannelOption.ALLOCATOR, allocator)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, settings.connectTimeoutMillis())
                .option(ChannelOption.RECVBUF_ALLOCATOR, READS);
        return address instanceof InetSocketAddress
                ? bootstrap.option(ChannelOption.TCP_NODELAY, true).option(ChannelOption.SO_KEEPALIVE, true)
                : bootstrap;
    }
}
