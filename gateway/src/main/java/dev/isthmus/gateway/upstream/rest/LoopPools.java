package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.resolver.AddressResolverGroup;
import io.netty.resolver.NoopAddressResolverGroup;
import io.netty.resolver.dns.DnsAddressResolverGroup;
import io.netty.resolver.dns.DnsNameResolverBuilder;
import java.net.SocketAddress;
import java.util.List;

/** The connection pools of one upstream on one event loop, one for each endpoint. Used on that loop only. */
final class LoopPools {
    private static final int MAX_READ = 512 * 1024;

    private final List<ConnectionPool> pools;
    private final AddressResolverGroup<? extends SocketAddress> names;
    private int next;

    private LoopPools(List<ConnectionPool> pools, AddressResolverGroup<? extends SocketAddress> names) {
        this.pools = pools;
        this.names = names;
    }

    static LoopPools open(
            UpstreamSettings settings,
            PoolLimits limits,
            UpstreamFailures failures,
            EventLoop loop,
            ByteBufAllocator allocator) {
        AddressResolverGroup<? extends SocketAddress> names = names(settings, loop);
        Bootstrap bootstrap = new Bootstrap()
                .group(loop)
                .channel(Transport.of(loop).clientChannel())
                .resolver(names)
                .option(ChannelOption.ALLOCATOR, allocator)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, settings.connectTimeoutMillis())
                .option(ChannelOption.TCP_NODELAY, true)
                .option(ChannelOption.SO_KEEPALIVE, true)
                .option(ChannelOption.RECVBUF_ALLOCATOR, new AdaptiveRecvByteBufAllocator(1024, 16 * 1024, MAX_READ));
        List<ConnectionPool> pools = settings.endpoints().stream()
                .map(endpoint -> new ConnectionPool(endpoint, bootstrap, limits, failures))
                .toList();
        return new LoopPools(pools, names);
    }

    /** Names are looked up on the loop without blocking it; addresses need no look-up. */
    private static AddressResolverGroup<? extends SocketAddress> names(UpstreamSettings settings, EventLoop loop) {
        boolean named = settings.endpoints().stream()
                .anyMatch(endpoint -> endpoint.address().isUnresolved());
        if (!named) {
            return NoopAddressResolverGroup.INSTANCE;
        }
        return new DnsAddressResolverGroup(new DnsNameResolverBuilder()
                .datagramChannelType(Transport.of(loop).datagramChannel())
                .queryTimeoutMillis(settings.connectTimeoutMillis()));
    }

    /** The next endpoint's pool, passing over those that do not connect as long as there is another. */
    ConnectionPool pick() {
        int size = pools.size();
        for (int attempt = 0; attempt < size; attempt++) {
            ConnectionPool pool = turn(size);
            if (!pool.down()) {
                return pool;
            }
        }
        return turn(size);
    }

    private ConnectionPool turn(int size) {
        int index = next;
        next = index + 1 == size ? 0 : index + 1;
        return pools.get(index);
    }

    void close() {
        pools.forEach(ConnectionPool::close);
        names.close();
    }
}
