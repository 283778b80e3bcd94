package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.net.PackedReadAllocator;
import dev.isthmus.gateway.net.Transport;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.resolver.NoopAddressResolverGroup;

/** How connections to servers are made, whatever is spoken on them. */
public final class UpstreamTransport {
    private static final PackedReadAllocator READS =
            new PackedReadAllocator(new AdaptiveRecvByteBufAllocator(1024, 16 * 1024, 512 * 1024));

    private UpstreamTransport() {}

    /** Connections to a server from one event loop, complete but for the handler. */
    public static Bootstrap of(UpstreamSettings settings, EventLoop loop, ByteBufAllocator allocator) {
        return new Bootstrap()
                .group(loop)
                .channel(Transport.of(loop).clientChannel())
                .resolver(NoopAddressResolverGroup.INSTANCE)
                .remoteAddress(settings.endpoint().address())
                .option(ChannelOption.ALLOCATOR, allocator)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, settings.connectTimeoutMillis())
                .option(ChannelOption.TCP_NODELAY, true)
                .option(ChannelOption.SO_KEEPALIVE, true)
                .option(ChannelOption.RECVBUF_ALLOCATOR, READS);
    }
}
