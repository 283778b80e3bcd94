package dev.isthmus.gateway.fleet.kserve;

import com.fasterxml.jackson.databind.JsonNode;
import dev.isthmus.gateway.fleet.kserve.InferenceService.ServingRuntime;
import dev.isthmus.gateway.fleet.kserve.InferenceServiceModels.KnownServers;
import dev.isthmus.gateway.fleet.kserve.InferenceServiceModels.SeenNamespace;
import dev.isthmus.gateway.fleet.kserve.InferenceServiceModels.ServiceProblem;
import dev.isthmus.gateway.fleet.kubernetes.ApiServer;
import dev.isthmus.gateway.fleet.kubernetes.ResourceWatch;
import dev.isthmus.gateway.fleet.kubernetes.ResourceWatch.ResourceListener;
import dev.isthmus.gateway.fleet.kubernetes.ResourceWatch.WatchedResources;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.DiscoverConfig.KServeConfig;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.KubernetesConfig;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Watches the InferenceServices that a configuration names, with the runtimes that they may have, adds them to it, and
 * has it applied again when they change, at most once a second. Thread-safe.
 */
public final class InferenceServiceDiscovery implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(InferenceServiceDiscovery.class);

    /** How long a start or reload waits for the API server. */
    private static final Duration FIRST_LIST = Duration.ofSeconds(5);

    /** Between two applications. The first change after it is applied at once: KServe may delete servers with it. */
    private static final Duration PAUSE = Duration.ofSeconds(1);

    private final ScheduledExecutorService scheduler;
    private final Runnable apply;
    private final Supplier<Map<String, Set<String>>> listed;
    private final AtomicBoolean scheduled = new AtomicBoolean();

    /** When the last application began or ended, as {@link System#nanoTime}. */
    private volatile long applied = System.nanoTime() - PAUSE.toNanos();

    private volatile GatewayConfig written = GatewayConfig.DEFAULT;
    private volatile boolean started;

    /** What the servers listed when services were merged last. */
    private volatile Map<String, Set<String>> merged = Map.of();

    /** Guarded by this. */
    private final Map<WatchKey, WatchedKind<InferenceService>> services = new HashMap<>();

    /** Guarded by this. */
    private final Map<WatchKey, WatchedKind<ServingRuntime>> runtimes = new HashMap<>();

    /** What was reported, and still holds; guarded by this. */
    private Set<ServiceProblem> reported = Set.of();

    /**
     * Everything that a watch depends on.
     *
     * @param name for messages
     */
    private record WatchKey(KubernetesConfig access, String name, String path) {
        static WatchKey of(KubernetesConfig access, String namespace, String version, String kinds, String query) {
            return new WatchKey(
                    access,
                    namespace.isEmpty() ? kinds : "Namespace '" + namespace + "' with " + kinds,
                    "/apis/serving.kserve.io/" + version + (namespace.isEmpty() ? "" : "/namespaces/" + namespace) + "/"
                            + kinds.toLowerCase(Locale.ROOT) + "?labelSelector=" + query);
        }

        static WatchKey services(GatewayConfig config, KServeConfig settings) {
            String selector = settings.selector() == null ? "" : settings.selector();
            String query = URLEncoder.encode(selector, StandardCharsets.UTF_8);
            return of(config.kubernetes(), settings.namespace(), "v1beta1", "InferenceServices", query);
        }

        /** Those that take precedence last, as for KServe. */
        static List<WatchKey> runtimes(GatewayConfig config, KServeConfig settings) {
            return List.of(
                    of(config.kubernetes(), "", "v1alpha1", "ClusterServingRuntimes", ""),
                    of(config.kubernetes(), settings.namespace(), "v1alpha1", "ServingRuntimes", ""));
        }
    }

    /**
     * Discovers nothing yet, and applies nothing before {@link #start}.
     *
     * @param scheduler runs {@code apply}
     * @param apply applies {@link #written()} again
     * @param listed the models that are ready on the servers of an upstream, as these list them; not asked before the
     *     start
     */
    public InferenceServiceDiscovery(
            ScheduledExecutorService scheduler, Runnable apply, Supplier<Map<String, Set<String>>> listed) {
        this.scheduler = scheduler;
        this.apply = apply;
        this.listed = listed;
    }

    /** The configuration in effect, without what was discovered. */
    public GatewayConfig written() {
        return written;
    }

    /**
     * A configuration with what is discovered for it. {@link #inEffect} follows, whether or not it was applied. Blocks
     * until each of its namespaces was listed once, or could not be, but not longer than 5 s.
     */
    public GatewayConfig merged(GatewayConfig config) {
        CompletableFuture<?>[] first =
                started(config).stream().map(watch -> watch.first).toArray(CompletableFuture<?>[]::new);
        CompletableFuture.allOf(first)
                .completeOnTimeout(null, FIRST_LIST.toNanos(), TimeUnit.NANOSECONDS)
                .join();
        merged = started ? listed.get() : Map.of();
        return withServices(config, merged);
    }

    /** Has changes applied from now on, and those since {@link #merged}. */
    public void start() {
        started = true;
        if (!written.discover().kserve().isEmpty()) {
            changed();
        }
        String fault = "internal error: models of servers are not compared; please report it";
        scheduler.scheduleWithFixedDelay(RepeatingLogEvent.guarded(LOG, fault, this::compare), 1, 1, TimeUnit.SECONDS);
    }

    private void compare() {
        if (!written.discover().kserve().isEmpty() && !listed.get().equals(merged)) {
            changed();
        }
    }

    private void changed() {
        if (!started || !scheduled.compareAndSet(false, true)) {
            return;
        }
        try {
            long wait = applied + PAUSE.toNanos() - System.nanoTime();
            scheduler.schedule(this::applyNow, Math.max(0, wait), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("the gateway is shutting down", e);
        }
    }

    private void applyNow() {
        applied = System.nanoTime();
        scheduled.set(false);
        try {
            apply.run();
        } catch (RuntimeException fault) {
            LOG.error("internal error; discovered models stay as they were; please report it", fault);
        } finally {
            applied = System.nanoTime();
        }
    }

    private synchronized List<WatchedKind<?>> started(GatewayConfig config) {
        List<WatchedKind<?>> all = new ArrayList<>();
        for (KServeConfig settings : config.discover().kserve()) {
            all.add(services.computeIfAbsent(
                    WatchKey.services(config, settings), key -> new WatchedKind<>(key, InferenceService::of)));
            for (WatchKey each : WatchKey.runtimes(config, settings)) {
                all.add(runtimes.computeIfAbsent(each, key -> new WatchedKind<>(key, ServingRuntime::of)));
            }
        }
        return all;
    }

    /** A configuration, without what was discovered, is in effect: ends discovery for others. */
    public synchronized void inEffect(GatewayConfig config) {
        written = config;
        Set<WatchedKind<?>> needed = new HashSet<>(started(config));
        services.values().removeIf(each -> each.endsUnless(needed));
        runtimes.values().removeIf(each -> each.endsUnless(needed));
    }

    private synchronized GatewayConfig withServices(GatewayConfig config, Map<String, Set<String>> models) {
        if (config.discover().kserve().isEmpty()) {
            reported = Set.of();
            return config;
        }
        InferenceServiceModels merger = new InferenceServiceModels(config, models);
        for (KServeConfig settings : config.discover().kserve()) {
            var watch = services.get(WatchKey.services(config, settings));
            if (watch != null && watch.seen != null) {
                watch.servers =
                        merger.add(settings, seen(watch.seen, WatchKey.runtimes(config, settings), watch.servers));
            }
        }
        GatewayConfig result = merger.config();
        merger.problems().stream()
                .filter(each -> !reported.contains(each))
                .forEach(each ->
                        LOG.atLevel(each.unexpected() ? Level.WARN : Level.INFO).log(each.text()));
        reported = merger.problems();
        return result;
    }

    private SeenNamespace seen(List<InferenceService> all, List<WatchKey> keys, KnownServers before) {
        Map<String, ServingRuntime> byName = new HashMap<>();
        boolean complete = true;
        for (WatchKey each : keys) {
            var watch = runtimes.get(each);
            if (watch != null && watch.seen != null) {
                watch.seen.forEach(runtime -> byName.put(runtime.name(), runtime));
            } else {
                complete = false;
            }
        }
        return new SeenNamespace(all, byName, complete, before);
    }

    /** What is wrong with InferenceServices, as sentences, by namespace and name. */
    public synchronized Map<String, List<String>> problems() {
        return reported.stream()
                .filter(ServiceProblem::unexpected)
                .collect(Collectors.groupingBy(
                        ServiceProblem::service,
                        TreeMap::new,
                        Collectors.mapping(ServiceProblem::text, Collectors.toList())));
    }

    @Override
    public synchronized void close() {
        inEffect(GatewayConfig.DEFAULT);
    }

    /** The resources of one kind, in one namespace or in all. */
    private final class WatchedKind<T> implements ResourceListener<T> {
        private final CompletableFuture<Void> first = new CompletableFuture<>();
        private final ResourceWatch<T> watch;

        /** Null until they could be listed. */
        private volatile @Nullable List<T> seen;

        /** What was last known of the servers; guarded by the discovery. */
        private KnownServers servers = KnownServers.NONE;

        WatchedKind(WatchKey key, Function<JsonNode, T> read) {
            watch = new ResourceWatch<>(
                    new WatchedResources<>(key.name(), "its last models stay in use", key.path(), read),
                    new ApiServer(key.access(), System.getenv()),
                    this,
                    () -> ThreadLocalRandom.current().nextLong());
            watch.start();
        }

        /** Ends the watch if it is not among these, and returns whether it did. */
        boolean endsUnless(Set<WatchedKind<?>> needed) {
            boolean ends = !needed.contains(this);
            if (ends) {
                watch.close();
            }
            return ends;
        }

        @Override
        public void changed(Collection<T> current) {
            List<T> now = List.copyOf(current);
            boolean same = now.equals(seen);
            seen = now;
            first.complete(null);
            if (!same) {
                InferenceServiceDiscovery.this.changed();
            }
        }

        @Override
        public void failed() {
            first.complete(null);
        }
    }
}
