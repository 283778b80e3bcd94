package dev.isthmus.gateway.fleet.discovery;

import dev.isthmus.gateway.fleet.Discovery;
import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.fleet.Discovery.Registration;
import dev.isthmus.gateway.fleet.discovery.NameLookup.TimeToLive;
import dev.isthmus.gateway.net.RepeatingLogEvent;
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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Resolves names with DNS and the hosts file, on one event loop.
 *
 * @param searchDomains appended to names; if empty, those of this machine
 */
public record DnsDiscovery(EventLoop loop, DnsServerAddressStreamProvider servers, List<String> searchDomains)
        implements Discovery {
    private static final long QUERY_TIMEOUT_MILLIS = TimeUnit.SECONDS.toMillis(2);

    /** For the choice between two families of addresses. */
    private static final int CONNECT_TIMEOUT_MILLIS = 1000;

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

    /**
     * Resolves some names periodically. If a look-up fails, the previous result stays. Runs on one event loop; started and
     * closed on any thread.
     */
    static final class DnsWatcher implements Registration {
        private static final Logger LOG = LoggerFactory.getLogger(DnsWatcher.class);
        private static final long MIN_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);
        private static final int MAX_DOUBLINGS = 10;

        private final ScheduledExecutorService loop;
        private final List<WatchedName> names;
        private final long refresh;
        private final Consumer<List<DiscoveredServer>> listener;
        private final CompletableFuture<Void> first = new CompletableFuture<>();
        private final LongAdder succeeded = new LongAdder();
        private final LongAdder failed = new LongAdder();
        private int unresolved;
        private volatile boolean closed;

        DnsWatcher(
                ScheduledExecutorService loop,
                List<NameLookup> lookups,
                Duration refresh,
                Consumer<List<DiscoveredServer>> listener) {
            this.loop = loop;
            this.names = lookups.stream().map(WatchedName::new).toList();
            this.refresh = refresh.toNanos();
            this.listener = listener;
            this.unresolved = lookups.size();
        }

        void start() {
            loop.execute(() -> names.forEach(WatchedName::lookUp));
        }

        @Override
        public CompletableFuture<Void> first() {
            return first;
        }

        @Override
        public long lookUps(boolean success) {
            return (success ? succeeded : failed).sum();
        }

        @Override
        public void close() {
            closed = true;
            try {
                loop.execute(() -> names.forEach(name -> name.lookup.close()));
            } catch (RejectedExecutionException e) {
                // The loop has terminated and closed the resolvers' channels.
                LOG.debug("the event loop of the DNS resolver has terminated");
            }
        }

        private void publish() {
            List<DiscoveredServer> all = new ArrayList<>();
            names.forEach(name -> all.addAll(name.servers));
            listener.accept(all);
        }

        private void ended(boolean firstOfName) {
            if (firstOfName && --unresolved == 0) {
                first.complete(null);
            }
        }

        private long bounded(long seconds) {
            long valid =
                    seconds > TimeUnit.NANOSECONDS.toSeconds(refresh) ? refresh : TimeUnit.SECONDS.toNanos(seconds);
            return Math.max(MIN_INTERVAL_NANOS, valid);
        }

        private final class WatchedName implements NameLookup.LookupHandler {
            private final NameLookup lookup;
            private List<DiscoveredServer> servers = List.of();
            private int failures;
            private boolean resolvedOnce;

            WatchedName(NameLookup lookup) {
                this.lookup = lookup;
            }

            void lookUp() {
                if (!closed) {
                    lookup.start(this);
                }
            }

            @Override
            public void found(List<DiscoveredServer> found, long seconds) {
                failures = 0;
                succeeded.increment();
                servers = found;
                if (!closed) {
                    publish();
                }
                reschedule(bounded(seconds));
            }

            @Override
            public void failed(Throwable cause) {
                if (closed) {
                    return;
                }
                DnsWatcher.this.failed.increment();
                if (failures == 0) {
                    LOG.atWarn()
                            .addMarker(RepeatingLogEvent.MARKER)
                            .addKeyValue("server", lookup.name())
                            .log(
                                    "'{}' could not be resolved, its last {} servers stay in use; check DNS: {}",
                                    lookup.name(),
                                    servers.size(),
                                    cause.getMessage());
                }
                failures = Math.min(failures + 1, MAX_DOUBLINGS);
                reschedule(Math.max(MIN_INTERVAL_NANOS, Math.min(refresh, MIN_INTERVAL_NANOS << (failures - 1))));
            }

            private void reschedule(long nanos) {
                boolean firstTime = !resolvedOnce;
                resolvedOnce = true;
                ended(firstTime);
                try {
                    loop.schedule(this::lookUp, nanos, TimeUnit.NANOSECONDS);
                } catch (RejectedExecutionException e) {
                    closed = true;
                }
            }
        }
    }
}
