package dev.isthmus.gateway.fleet.discovery;

import static java.util.Objects.requireNonNull;

import dev.isthmus.gateway.fleet.Discovery;
import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.fleet.Discovery.Registration;
import dev.isthmus.gateway.fleet.Discovery.WatchStart;
import dev.isthmus.gateway.fleet.discovery.DnsDiscovery.NameLookup.TimeToLive;
import dev.isthmus.gateway.net.EventLoops;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.ServerAddress;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.CorruptedFrameException;
import io.netty.handler.codec.dns.DefaultDnsQuestion;
import io.netty.handler.codec.dns.DefaultDnsRecordDecoder;
import io.netty.handler.codec.dns.DnsRawRecord;
import io.netty.handler.codec.dns.DnsRecord;
import io.netty.handler.codec.dns.DnsRecordType;
import io.netty.resolver.NoopAddressResolverGroup;
import io.netty.resolver.dns.DefaultDnsCache;
import io.netty.resolver.dns.DnsCacheEntry;
import io.netty.resolver.dns.DnsNameResolver;
import io.netty.resolver.dns.DnsNameResolverBuilder;
import io.netty.resolver.dns.DnsServerAddressStreamProvider;
import io.netty.resolver.dns.DnsServerAddressStreamProviders;
import io.netty.resolver.dns.NoopAuthoritativeDnsServerCache;
import io.netty.resolver.dns.NoopDnsCnameCache;
import io.netty.util.NetUtil;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Resolves names with DNS and the hosts file, on one event loop.
 *
 * @param searchDomains appended to names; if empty, those of this machine
 * @param latest by name, the watch that has found servers last, with which others begin; used on the loop
 */
public record DnsDiscovery(
        EventLoop loop,
        DnsServerAddressStreamProvider servers,
        List<String> searchDomains,
        Map<ServerAddress, DnsWatcher> latest)
        implements Discovery {
    private static final long QUERY_TIMEOUT_MILLIS = TimeUnit.SECONDS.toMillis(2);

    /** For the choice between two families of addresses. */
    private static final int CONNECT_TIMEOUT_MILLIS = 1000;

    /**
     * Uses the name servers configured on this machine. Reads their configuration from files: not to be called on a
     * loop.
     */
    public static DnsDiscovery ofMachine(EventLoop loop) {
        return new DnsDiscovery(loop, DnsServerAddressStreamProviders.platformDefault(), List.of(), new HashMap<>());
    }

    @Override
    public Registration watch(List<ServerAddress> names, Duration refresh, Consumer<List<DiscoveredServer>> listener) {
        List<WatchStart> each = new ArrayList<>();
        names.forEach(name -> each.add(servers -> start(name, refresh, servers)));
        return Discovery.joined(each, listener);
    }

    private DnsWatcher start(ServerAddress name, Duration refresh, Consumer<List<DiscoveredServer>> listener) {
        DnsWatcher watch = new DnsWatcher(lookup(name), refresh, listener);
        loop.execute(watch::begin);
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

    /**
     * Resolves a name periodically. If a look-up fails, the previous result stays. Runs on one event loop; closed on any
     * thread.
     */
    final class DnsWatcher implements Registration {
        private static final Logger LOG = LoggerFactory.getLogger(DnsWatcher.class);
        private static final long MIN_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);
        private static final int MAX_DOUBLINGS = 10;

        private final NameLookup lookup;
        private final long refresh;
        private final Consumer<List<DiscoveredServer>> listener;
        private final CompletableFuture<Void> first = new CompletableFuture<>();
        private final LongAdder successes = new LongAdder();
        private final LongAdder failures = new LongAdder();
        private List<DiscoveredServer> servers = List.of();
        private int failuresInARow;
        private volatile boolean closed;

        DnsWatcher(NameLookup lookup, Duration refresh, Consumer<List<DiscoveredServer>> listener) {
            this.lookup = lookup;
            this.refresh = refresh.toNanos();
            this.listener = listener;
        }

        @Override
        public CompletableFuture<Void> first() {
            return first;
        }

        @Override
        public long lookUps(boolean success) {
            return (success ? successes : failures).sum();
        }

        @Override
        public void close() {
            closed = true;
            EventLoops.handOver(loop, () -> {
                latest.remove(lookup.name(), this);
                lookup.resolver().close();
            });
        }

        private void begin() {
            lookUp();
            DnsWatcher other = latest.get(lookup.name());
            if (other != null && servers.isEmpty()) {
                servers = other.servers;
                listener.accept(servers);
            }
        }

        private void lookUp() {
            if (!closed) {
                // Whatever fails, the listener too, is tried again.
                lookup.start()
                        .thenAccept(found -> found(found, lookup.timeToLive().seconds()))
                        .whenComplete((done, failure) -> {
                            if (failure != null) {
                                failed(requireNonNull(failure.getCause()));
                            }
                        });
            }
        }

        private void found(List<DiscoveredServer> found, long seconds) {
            failuresInARow = 0;
            successes.increment();
            servers = found;
            if (!closed) {
                latest.put(lookup.name(), this);
                listener.accept(found);
            }
            reschedule(seconds);
        }

        private void failed(Throwable cause) {
            if (closed) {
                return;
            }
            failures.increment();
            if (failuresInARow == 0) {
                RepeatingLogEvent.warn(LOG)
                        .addKeyValue("server", lookup.name())
                        .log(
                                "'{}' could not be resolved, its last {} servers stay in use; check DNS: {}",
                                lookup.name(),
                                servers.size(),
                                cause.getMessage());
            }
            failuresInARow = Math.min(failuresInARow + 1, MAX_DOUBLINGS);
            reschedule(1L << (failuresInARow - 1));
        }

        private void reschedule(long seconds) {
            first.complete(null);
            long nanos = Math.min(refresh, TimeUnit.SECONDS.toNanos(seconds));
            try {
                loop.schedule(this::lookUp, Math.max(MIN_INTERVAL_NANOS, nanos), TimeUnit.NANOSECONDS);
            } catch (RejectedExecutionException e) {
                closed = true;
            }
        }
    }

    /**
     * Resolves one name. One look-up at a time, on the event loop of the resolver.
     *
     * @param connector for connections to servers, which are closed at once; without a handler, on the resolver's loop
     * @param timeToLive the resolver's
     */
    record NameLookup(DnsNameResolver resolver, Bootstrap connector, TimeToLive timeToLive, ServerAddress name) {
        /** More than an upstream may have: it says so. A service may have as many targets as fit into a response. */
        private static final int MAX_SERVERS = 4096;

        /** The servers that the name resolves to, when it has been. */
        CompletableFuture<List<DiscoveredServer>> start() {
            timeToLive.reset();
            return switch (name) {
                case ServerAddress.HostAddress at -> host(at.endpoint());
                case ServerAddress.SrvAddress service -> service(service.name());
                case ServerAddress.KubernetesService service ->
                    throw new IllegalStateException("'" + service + "' is not a name in DNS");
            };
        }

        private CompletableFuture<List<DiscoveredServer>> host(Endpoint endpoint) {
            return completable(resolver.resolveAll(endpoint.host()))
                    // Servers may listen on either loopback address, whatever the hosts file says (RFC 6761, 6.3).
                    .thenCompose(found -> oneFamily(
                            endpoint.host().equals("localhost")
                                    ? List.of(NetUtil.LOCALHOST4, NetUtil.LOCALHOST6)
                                    : found,
                            endpoint.port()))
                    .thenApply(used -> used.stream()
                            .limit(MAX_SERVERS)
                            .map(each -> new DiscoveredServer(
                                    new Endpoint(NetUtil.toAddressString(each), endpoint.port()), endpoint.authority()))
                            .toList());
        }

        private static <T> CompletableFuture<T> completable(Future<T> future) {
            CompletableFuture<T> completable = new CompletableFuture<>();
            future.addListener((Future<T> done) -> {
                if (done.isSuccess()) {
                    completable.complete(done.getNow());
                } else {
                    completable.completeExceptionally(done.cause());
                }
            });
            return completable;
        }

        /**
         * A host with addresses of both families is one server with two addresses. The IPv4 ones are used, unless only the
         * other ones can be connected to: a server may listen on the localhost of one family only.
         */
        private CompletableFuture<List<InetAddress>> oneFamily(List<InetAddress> addresses, int port) {
            List<InetAddress> ipv4 =
                    addresses.stream().filter(Inet4Address.class::isInstance).toList();
            List<InetAddress> ipv6 =
                    addresses.stream().filter(Inet6Address.class::isInstance).toList();
            return ipv4.isEmpty() || ipv6.isEmpty()
                    ? CompletableFuture.completedFuture(addresses)
                    : connects(ipv4.getFirst(), port)
                            .thenCompose(listens -> listens
                                    ? CompletableFuture.completedFuture(ipv4)
                                    : connects(ipv6.getFirst(), port).thenApply(other -> other ? ipv6 : ipv4));
        }

        private CompletableFuture<Boolean> connects(InetAddress address, int port) {
            CompletableFuture<Boolean> connects = new CompletableFuture<>();
            Bootstrap once = connector.clone().handler(new ChannelInboundHandlerAdapter());
            once.connect(address, port).addListener((ChannelFuture future) -> {
                if (future.isSuccess()) {
                    future.channel().close();
                }
                // Too many open files are told by another thread, without a channel.
                connector.config().group().execute(() -> connects.complete(future.isSuccess()));
            });
            return connects;
        }

        private CompletableFuture<List<DiscoveredServer>> service(String service) {
            return completable(resolver.resolveAll(new Relative(service)))
                    .thenApply(this::targets)
                    .thenCompose(this::servers);
        }

        /** Reads the SRV records, and releases them. */
        private List<ServiceRecord> targets(List<DnsRecord> records) {
            try {
                records.forEach(record -> timeToLive.seen(record.timeToLive()));
                return ServiceRecord.first(records);
            } finally {
                records.forEach(ReferenceCountUtil::release);
            }
        }

        /** The addresses of the targets; those that cannot be resolved are left out unless all of them fail. */
        private CompletableFuture<List<DiscoveredServer>> servers(List<ServiceRecord> targets) {
            if (targets.isEmpty()) {
                return CompletableFuture.failedFuture(new UnknownHostException("no SRV record"));
            }
            List<CompletableFuture<List<DiscoveredServer>>> each = targets.stream()
                    .map(target -> host(new Endpoint(target.target(), target.port())))
                    .toList();
            CompletableFuture<Void> all = CompletableFuture.allOf(each.toArray(CompletableFuture<?>[]::new));
            return all.handle((done, failure) -> each.stream()
                            .filter(one -> !one.isCompletedExceptionally())
                            .flatMap(one -> one.join().stream())
                            .limit(MAX_SERVERS)
                            .toList())
                    .thenCompose(found ->
                            found.isEmpty() ? all.thenApply(none -> found) : CompletableFuture.completedFuture(found));
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
                all.removeIf(record -> record.priority != best || record.target.isEmpty() || record.port == 0);
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
}
