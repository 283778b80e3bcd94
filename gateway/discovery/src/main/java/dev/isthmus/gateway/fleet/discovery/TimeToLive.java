package dev.isthmus.gateway.fleet.discovery;

import io.netty.channel.EventLoop;
import io.netty.handler.codec.dns.DnsRecord;
import io.netty.resolver.dns.DnsCache;
import io.netty.resolver.dns.DnsCacheEntry;
import io.netty.resolver.dns.NoopDnsCache;
import java.net.InetAddress;
import java.util.List;

/**
 * Records the shortest TTL of the records used by one look-up. Takes the place of the resolver's cache, which shows it
 * the TTLs, and caches nothing. Used on one event loop.
 */
final class TimeToLive implements DnsCache {
    private static final long UNLIMITED = Long.MAX_VALUE;

    private long seconds = UNLIMITED;

    /** A new look-up begins. */
    void reset() {
        seconds = UNLIMITED;
    }

    /** {@link Long#MAX_VALUE} if no record was used, as for a name in the hosts file. */
    long seconds() {
        return seconds;
    }

    void seen(long timeToLive) {
        seconds = Math.min(seconds, timeToLive);
    }

    @Override
    public void clear() {}

    @Override
    public boolean clear(String hostname) {
        return false;
    }

    @Override
    public List<? extends DnsCacheEntry> get(String hostname, DnsRecord[] additionals) {
        return List.of();
    }

    @Override
    public DnsCacheEntry cache(
            String hostname, DnsRecord[] additionals, InetAddress address, long originalTtl, EventLoop loop) {
        seen(originalTtl);
        return NoopDnsCache.INSTANCE.cache(hostname, additionals, address, originalTtl, loop);
    }

    @Override
    public DnsCacheEntry cache(String hostname, DnsRecord[] additionals, Throwable cause, EventLoop loop) {
        return NoopDnsCache.INSTANCE.cache(hostname, additionals, cause, loop);
    }
}
