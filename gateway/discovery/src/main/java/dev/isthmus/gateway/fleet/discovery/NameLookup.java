package dev.isthmus.gateway.fleet.discovery;

import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.ServerAddress;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.CorruptedFrameException;
import io.netty.handler.codec.dns.DefaultDnsQuestion;
import io.netty.handler.codec.dns.DefaultDnsRecordDecoder;
import io.netty.handler.codec.dns.DnsRawRecord;
import io.netty.handler.codec.dns.DnsRecord;
import io.netty.handler.codec.dns.DnsRecordType;
import io.netty.resolver.dns.DefaultDnsCache;
import io.netty.resolver.dns.DnsCacheEntry;
import io.netty.resolver.dns.DnsNameResolver;
import io.netty.util.NetUtil;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** Resolves one name. One look-up at a time, on the event loop of the resolver. */
final class NameLookup {
    /** More than an upstream may have: it says so. A service may have as many targets as fit into a response. */
    private static final int MAX_SERVERS = 4096;

    private final DnsNameResolver resolver;
    private final Bootstrap connector;
    private final TimeToLive timeToLive;
    private final ServerAddress name;

    /** Receives the result of a look-up. */
    interface LookupHandler {
        /**
         * Receives the servers that the name resolves to.
         *
         * @param seconds time to live; {@link Long#MAX_VALUE} if unknown
         */
        void found(List<DiscoveredServer> servers, long seconds);

        void failed(Throwable cause);
    }

    /**
     * A look-up of one name.
     *
     * @param connector for connections to servers, which are closed at once; without a handler, on the resolver's loop
     * @param timeToLive the resolver's
     */
    NameLookup(DnsNameResolver resolver, Bootstrap connector, TimeToLive timeToLive, ServerAddress name) {
        this.resolver = resolver;
        this.connector = connector;
        this.timeToLive = timeToLive;
        this.name = name;
    }

    ServerAddress name() {
        return name;
    }

    void close() {
        resolver.close();
    }

    void start(LookupHandler outcome) {
        timeToLive.reset();
        switch (name) {
            case ServerAddress.HostAddress at ->
                host(at.endpoint(), at.endpoint().authority(), new AddressCollector(1, outcome));
            case ServerAddress.SrvAddress service -> service(service.name(), outcome);
            case ServerAddress.KubernetesService service ->
                throw new IllegalStateException("'" + service + "' is not a name in DNS");
        }
    }

    private void host(Endpoint endpoint, String authority, AddressCollector collector) {
        resolver.resolveAll(endpoint.host()).addListener((Future<List<InetAddress>> future) -> {
            if (future.isSuccess()) {
                oneFamily(
                        addresses(endpoint.host(), future.getNow()),
                        endpoint.port(),
                        used -> collector.found(servers(used, endpoint.port(), authority)));
            } else {
                collector.failed(future.cause());
            }
        });
    }

    private static List<DiscoveredServer> servers(List<InetAddress> addresses, int port, String authority) {
        return addresses.stream()
                .map(address -> new DiscoveredServer(new Endpoint(NetUtil.toAddressString(address), port), authority))
                .toList();
    }

    /** Servers may listen on either loopback address, whatever the hosts file says (RFC 6761, 6.3). */
    private static List<InetAddress> addresses(String host, List<InetAddress> found) {
        return host.equals("localhost") ? List.of(NetUtil.LOCALHOST4, NetUtil.LOCALHOST6) : found;
    }

    /**
     * A host with addresses of both families is one server with two addresses. The IPv4 ones are used, unless only the
     * other ones can be connected to: a server may listen on the localhost of one family only.
     */
    private void oneFamily(List<InetAddress> addresses, int port, Consumer<List<InetAddress>> use) {
        List<InetAddress> ipv4 =
                addresses.stream().filter(Inet4Address.class::isInstance).toList();
        List<InetAddress> ipv6 =
                addresses.stream().filter(Inet6Address.class::isInstance).toList();
        if (ipv4.isEmpty() || ipv6.isEmpty()) {
            use.accept(addresses);
        } else {
            connect(
                    ipv4.getFirst(),
                    port,
                    () -> use.accept(ipv4),
                    () -> connect(ipv6.getFirst(), port, () -> use.accept(ipv6), () -> use.accept(ipv4)));
        }
    }

    private void connect(InetAddress address, int port, Runnable listens, Runnable fails) {
        Bootstrap once = connector.clone().handler(new ChannelInboundHandlerAdapter());
        once.connect(address, port).addListener((ChannelFuture future) -> {
            if (future.isSuccess()) {
                future.addListener(ChannelFutureListener.CLOSE);
                listens.run();
            } else {
                fails.run();
            }
        });
    }

    private void service(String service, LookupHandler outcome) {
        resolver.resolveAll(new Relative(service)).addListener((Future<List<DnsRecord>> future) -> {
            if (future.isSuccess()) {
                targets(future.getNow(), outcome);
            } else {
                outcome.failed(future.cause());
            }
        });
    }

    /** Reads the SRV records and resolves their targets. Releases the records. */
    private void targets(List<DnsRecord> records, LookupHandler outcome) {
        List<ServiceRecord> targets;
        try {
            records.forEach(record -> timeToLive.seen(record.timeToLive()));
            targets = ServiceRecord.first(records);
        } catch (RuntimeException e) {
            outcome.failed(e);
            return;
        } finally {
            records.forEach(ReferenceCountUtil::release);
        }
        if (targets.isEmpty()) {
            outcome.failed(new UnknownHostException("no SRV record"));
            return;
        }
        AddressCollector collector = new AddressCollector(targets.size(), outcome);
        for (ServiceRecord target : targets) {
            Endpoint endpoint = new Endpoint(target.target(), target.port());
            host(endpoint, endpoint.authority(), collector);
        }
    }

    /** Collects the addresses of several hosts; hosts that cannot be resolved are left out unless all of them fail. */
    private final class AddressCollector {
        private final LookupHandler outcome;
        private final List<DiscoveredServer> servers = new ArrayList<>();
        private int missing;

        AddressCollector(int hosts, LookupHandler outcome) {
            this.missing = hosts;
            this.outcome = outcome;
        }

        void found(List<DiscoveredServer> some) {
            servers.addAll(some.subList(0, Math.min(some.size(), MAX_SERVERS - servers.size())));
            if (--missing == 0) {
                outcome.found(servers, timeToLive.seconds());
            }
        }

        void failed(Throwable cause) {
            if (--missing > 0) {
                return;
            }
            if (servers.isEmpty()) {
                outcome.failed(cause);
            } else {
                outcome.found(servers, timeToLive.seconds());
            }
        }
    }

    /** A question whose name has no trailing dot, so that search domains apply, as they do for hosts. */
    private static final class Relative extends DefaultDnsQuestion {
        private final String plain;

        Relative(String plain) {
            super(plain, DnsRecordType.SRV);
            this.plain = plain;
        }

        @Override
        public String name() {
            return plain;
        }
    }

    /**
     * One SRV record (RFC 2782).
     *
     * @param target without the trailing dot
     */
    record ServiceRecord(int priority, int port, String target) {
        private static final int FIXED_BYTES = 6;

        /**
         * The records of the best priority: the others are a fallback. Weights are ignored: the load balancer distributes
         * calls.
         */
        static List<ServiceRecord> first(List<DnsRecord> records) {
            List<ServiceRecord> all = new ArrayList<>();
            for (DnsRecord record : records) {
                if (record instanceof DnsRawRecord raw) {
                    all.add(read(raw.content().duplicate()));
                }
            }
            int best = all.stream().mapToInt(ServiceRecord::priority).min().orElse(0);
            all.removeIf(record -> record.priority != best || record.target.isEmpty());
            return all;
        }

        private static ServiceRecord read(ByteBuf content) {
            if (content.readableBytes() <= FIXED_BYTES) {
                throw new CorruptedFrameException(
                        "SRV record has " + content.readableBytes() + " bytes, expected more than " + FIXED_BYTES);
            }
            int priority = content.readUnsignedShort();
            content.readUnsignedShort();
            int port = content.readUnsignedShort();
            String target = DefaultDnsRecordDecoder.decodeName(content);
            return new ServiceRecord(priority, port, target.substring(0, target.length() - 1));
        }
    }

    /**
     * Records the shortest TTL of the records used by one look-up. Takes the place of the resolver's cache, which shows it
     * the TTLs, and caches nothing. Used on one event loop.
     */
    static final class TimeToLive extends DefaultDnsCache {
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
}
