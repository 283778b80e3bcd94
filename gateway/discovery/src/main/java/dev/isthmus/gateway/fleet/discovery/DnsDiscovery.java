package dev.isthmus.gateway.fleet.discovery;

import dev.isthmus.gateway.fleet.Discovery;
import dev.isthmus.gateway.fleet.discovery.NameLookup.TimeToLive;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.ServerAddress;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.resolver.NoopAddressResolverGroup;
import io.netty.resolver.dns.DnsNameResolver;
import io.netty.resolver.dns.DnsNameResolverBuilder;
import io.netty.resolver.dns.DnsServerAddressStreamProvider;
import io.netty.resolver.dns.DnsServerAddressStreamProviders;
import io.netty.resolver.dns.NoopAuthoritativeDnsServerCache;
import io.netty.resolver.dns.NoopDnsCnameCache;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Resolves names with DNS and the hosts file, on one event loop. */
public final class DnsDiscovery implements Discovery {
    private static final long QUERY_TIMEOUT_MILLIS = TimeUnit.SECONDS.toMillis(2);

    /** For the choice between two families of addresses. */
    private static final int CONNECT_TIMEOUT_MILLIS = 1000;

    private final EventLoop loop;
    private final DnsServerAddressStreamProvider servers;
    private final List<String> searchDomains;

    /** @param searchDomains appended to names; if empty, those of this machine */
    DnsDiscovery(EventLoop loop, DnsServerAddressStreamProvider servers, List<String> searchDomains) {
        this.loop = loop;
        this.servers = servers;
        this.searchDomains = searchDomains;
    }

    /**
     * Uses the name servers configured on this machine. Reads their configuration from files: not to be called on a
     * loop.
     */
    public static DnsDiscovery ofMachine(EventLoop loop) {
        return new DnsDiscovery(loop, DnsServerAddressStreamProviders.platformDefault(), List.of());
    }

    @Override
    public Registration watch(List<ServerAddress> names, Duration refresh, Consumer<List<DiscoveredServer>> listener) {
        DnsWatcher watch = new DnsWatcher(loop, names.stream().map(this::lookup).toList(), refresh, listener);
        watch.start();
        return watch;
    }

    /** Each name has a resolver of its own, so that the TTLs of the records used by a look-up are known. */
    private NameLookup lookup(ServerAddress name) {
        TimeToLive timeToLive = new TimeToLive();
        Transport transport = Transport.of(loop);
        DnsNameResolverBuilder builder = new DnsNameResolverBuilder(loop)
                .datagramChannelType(transport.datagramChannel())
                .socketChannelType(transport.clientChannel())
                .nameServerProvider(servers)
                .queryTimeoutMillis(QUERY_TIMEOUT_MILLIS)
                .resolveCache(timeToLive)
                .cnameCache(NoopDnsCnameCache.INSTANCE)
                .authoritativeDnsServerCache(NoopAuthoritativeDnsServerCache.INSTANCE);
        if (!searchDomains.isEmpty()) {
            builder.searchDomains(searchDomains).ndots(searchDomains.size());
        }
        DnsNameResolver resolver = builder.build();
        Bootstrap connector = new Bootstrap()
                .group(loop)
                .channel(transport.clientChannel())
                .resolver(NoopAddressResolverGroup.INSTANCE)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_TIMEOUT_MILLIS);
        return new NameLookup(resolver, connector, timeToLive, name);
    }
}
