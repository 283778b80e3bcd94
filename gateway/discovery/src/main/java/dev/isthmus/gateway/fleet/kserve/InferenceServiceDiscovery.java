package dev.isthmus.gateway.fleet.kserve;

import dev.isthmus.gateway.fleet.kserve.InferenceServiceModels.OmittedService;
import dev.isthmus.gateway.fleet.kubernetes.ApiServer;
import dev.isthmus.gateway.fleet.kubernetes.ResourceWatch;
import dev.isthmus.gateway.fleet.kubernetes.ResourceWatch.ResourceListener;
import dev.isthmus.gateway.fleet.kubernetes.ResourceWatch.WatchedResources;
import dev.isthmus.gateway.settings.DiscoverConfig.KServeConfig;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.KubernetesConfig;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** Watches the InferenceServices that a configuration names, and adds them to it. Thread-safe. */
public final class InferenceServiceDiscovery implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(InferenceServiceDiscovery.class);

    private final Map<String, String> environment;
    private final RandomGenerator random;
    private final Runnable changed;

    /** Guarded by this. */
    private final Map<WatchKey, NamespaceWatch> watches = new HashMap<>();

    /** What was reported, and still holds; guarded by this. */
    private Set<OmittedService> reported = Set.of();

    /** Everything that a watch depends on. */
    private record WatchKey(KubernetesConfig access, String namespace, String selector) {
        static WatchKey of(GatewayConfig config, KServeConfig settings) {
            String selector = settings.selector();
            return new WatchKey(config.kubernetes(), settings.namespace(), selector == null ? "" : selector);
        }
    }

    /**
     * Without any watch yet.
     *
     * @param environment of the process
     * @param random thread-safe
     * @param changed called when a service was added, removed or changed; must not block
     */
    public InferenceServiceDiscovery(Map<String, String> environment, RandomGenerator random, Runnable changed) {
        this.environment = Map.copyOf(environment);
        this.random = random;
        this.changed = changed;
    }

    /**
     * Starts the watches that a configuration needs and that are not running. Blocks until each of its namespaces was
     * listed once, or could not be, but not longer than {@code limit}.
     */
    public void watch(GatewayConfig config, Duration limit) {
        CompletableFuture<?>[] first =
                started(config).stream().map(watch -> watch.first).toArray(CompletableFuture<?>[]::new);
        CompletableFuture.allOf(first)
                .completeOnTimeout(null, limit.toNanos(), TimeUnit.NANOSECONDS)
                .join();
    }

    private synchronized List<NamespaceWatch> started(GatewayConfig config) {
        return config.discover().kserve().stream()
                .map(settings -> watches.computeIfAbsent(WatchKey.of(config, settings), NamespaceWatch::new))
                .toList();
    }

    /** Ends the watches that a configuration does not need. */
    public synchronized void retain(GatewayConfig config) {
        Set<WatchKey> needed = config.discover().kserve().stream()
                .map(settings -> WatchKey.of(config, settings))
                .collect(Collectors.toSet());
        watches.entrySet().removeIf(entry -> {
            boolean ends = !needed.contains(entry.getKey());
            if (ends) {
                entry.getValue().close();
            }
            return ends;
        });
    }

    /** A configuration with the upstreams and models of the services that were last seen. */
    public synchronized GatewayConfig merged(GatewayConfig config) {
        if (config.discover().kserve().isEmpty()) {
            return config;
        }
        InferenceServiceModels models = new InferenceServiceModels(config);
        for (KServeConfig settings : config.discover().kserve()) {
            NamespaceWatch watch = watches.get(WatchKey.of(config, settings));
            if (watch != null) {
                models.add(settings, watch.services);
            }
        }
        models.omitted().stream()
                .filter(each -> !reported.contains(each))
                .forEach(each ->
                        LOG.atLevel(each.unexpected() ? Level.WARN : Level.INFO).log(each.why()));
        reported = new HashSet<>(models.omitted());
        return models.config();
    }

    @Override
    public synchronized void close() {
        watches.values().forEach(NamespaceWatch::close);
        watches.clear();
    }

    /** The services of one namespace that a selector matches. */
    private final class NamespaceWatch implements ResourceListener<InferenceService>, AutoCloseable {
        private final CompletableFuture<Void> first = new CompletableFuture<>();
        private final ApiServer server;
        private final ResourceWatch<InferenceService> watch;
        private volatile List<InferenceService> services = List.of();

        NamespaceWatch(WatchKey key) {
            server = new ApiServer(key.access(), environment);
            watch = new ResourceWatch<>(
                    new WatchedResources<>(
                            "Namespace '" + key.namespace() + "' with InferenceServices",
                            "its last models stay in use",
                            "/apis/serving.kserve.io/v1beta1/namespaces/" + key.namespace()
                                    + "/inferenceservices?labelSelector="
                                    + URLEncoder.encode(key.selector(), StandardCharsets.UTF_8),
                            InferenceService::of),
                    server,
                    this,
                    random);
            watch.start();
        }

        @Override
        public void changed(Collection<InferenceService> current) {
            List<InferenceService> seen = List.copyOf(current);
            boolean same = seen.equals(services);
            services = seen;
            first.complete(null);
            if (!same) {
                changed.run();
            }
        }

        @Override
        public void failed() {
            first.complete(null);
        }

        @Override
        public void close() {
            watch.close();
            server.close();
        }
    }
}
