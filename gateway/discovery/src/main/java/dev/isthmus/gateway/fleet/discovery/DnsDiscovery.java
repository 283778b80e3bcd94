package dev.isthmus.gateway.fleet.discovery;

import dev.isthmus.gateway.fleet.Discovery;
import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.fleet.Discovery.Registration;
import dev.isthmus.gateway.fleet.Discovery.WatchStart;
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
        List<WatchStart> each = new ArrayList<>();
        names.forEach(name -> each.add(servers -> start(name, refresh, servers)));
        return Discovery.joined(each, listener);
    }

    private DnsWatcher start(ServerAddress name, Duration refresh, Consumer<List<DiscoveredServer>> listener) {
        DnsWatcher watch = new DnsWatcher(loop, lookup(name), refresh, listener);
        loop.execute(watch::lookUp);
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
    static final class DnsWatcher implements Registration, NameLookup.LookupHandler {
        private static final Logger LOG = LoggerFactory.getLogger(DnsWatcher.class);
        private static final long MIN_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);
        private static final int MAX_DOUBLINGS = 10;

        private final ScheduledExecutorService loop;
        private final NameLookup lookup;
        private final long refresh;
        private final Consumer<List<DiscoveredServer>> listener;
        private final CompletableFuture<Void> first = new CompletableFuture<>();
        private final LongAdder successes = new LongAdder();
        private final LongAdder failures = new LongAdder();
        private int servers;
        private int failuresInARow;
        private volatile boolean closed;

        DnsWatcher(
                ScheduledExecutorService loop,
                NameLookup lookup,
                Duration refresh,
                Consumer<List<DiscoveredServer>> listener) {
            this.loop = loop;
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
            try {
                loop.execute(lookup::close);
            } catch (RejectedExecutionException e) {
                // The loop has terminated and closed the resolver's channels.
                LOG.debug("the event loop of the DNS resolver has terminated");
            }
        }

        private long bounded(long seconds) {
            long valid =
                    seconds > TimeUnit.NANOSECONDS.toSeconds(refresh) ? refresh : TimeUnit.SECONDS.toNanos(seconds);
            return Math.max(MIN_INTERVAL_NANOS, valid);
        }

        private void lookUp() {
            if (!closed) {
                lookup.start(this);
            }
        }

        @Override
        public void found(List<DiscoveredServer> found, long seconds) {
            failuresInARow = 0;
            successes.increment();
            servers = found.size();
            if (!closed) {
                listener.accept(found);
            }
            reschedule(bounded(seconds));
        }

        @Override
        public void failed(Throwable cause) {
            if (closed) {
                return;
            }
            failures.increment();
            if (failuresInARow == 0) {
                LOG.atWarn()
                        .addMarker(RepeatingLogEvent.MARKER)
                        .addKeyValue("server", lookup.name())
                        .log(
                                "'{}' could not be resolved, its last {} servers stay in use; check DNS: {}",
                                lookup.name(),
                                servers,
                                cause.getMessage());
            }
            failuresInARow = Math.min(failuresInARow + 1, MAX_DOUBLINGS);
            reschedule(Math.max(MIN_INTERVAL_NANOS, Math.min(refresh, MIN_INTERVAL_NANOS << (failuresInARow - 1))));
        }

        private void reschedule(long nanos) {
            first.complete(null);
            try {
                loop.schedule(this::lookUp, nanos, TimeUnit.NANOSECONDS);
            } catch (RejectedExecutionException e) {
                closed = true;
            }
        }
    }
}
