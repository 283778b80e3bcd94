package dev.isthmus.gateway.fleet.discovery;

import io.netty.channel.EventLoop;
import io.netty.handler.codec.dns.DnsRecord;
import io.netty.resolver.dns.DefaultDnsCache;
import io.netty.resolver.dns.DnsCacheEntry;
import java.net.InetAddress;

/**
 * Records the shortest TTL of the records used by one look-up. Takes the place of the resolver's cache, which shows it
 * the TTLs, and caches nothing. Used on one event loop.
 */
final class TimeToLive extends DefaultDnsCache {
    private static final long UNLIMITED = Long.MAX_VALUE;

    private long seconds = UNLIMITED;

    TimeToLive() {
        super(0, 0, 0);
    }

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
    public DnsCacheEntry cache(
            String hostname, DnsRecord[] additionals, InetAddress address, long originalTtl, EventLoop loop) {
        seen(originalTtl);
        return super.cache(hostname, additionals, address, originalTtl, loop);
    }
}
