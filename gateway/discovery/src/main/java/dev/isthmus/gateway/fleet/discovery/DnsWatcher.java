package dev.isthmus.gateway.fleet.discovery;

import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.fleet.Discovery.Registration;
import dev.isthmus.gateway.net.RepeatingLogEvent;
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
 * Resolves some names periodically. If a look-up fails, the previous result stays. Runs on one event loop; started and
 * closed on any thread.
 */
final class DnsWatcher implements Registration {
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
        long valid = seconds > TimeUnit.NANOSECONDS.toSeconds(refresh) ? refresh : TimeUnit.SECONDS.toNanos(seconds);
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
