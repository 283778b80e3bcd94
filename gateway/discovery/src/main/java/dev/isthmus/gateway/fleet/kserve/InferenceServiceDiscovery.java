package dev.isthmus.gateway.fleet.kserve;

import dev.isthmus.gateway.fleet.kserve.InferenceService.Canary;
import dev.isthmus.gateway.fleet.kserve.InferenceService.Predictor;
import dev.isthmus.gateway.fleet.kserve.InferenceServiceDiscovery.InferenceServiceModels.OmittedService;
import dev.isthmus.gateway.fleet.kubernetes.ApiServer;
import dev.isthmus.gateway.fleet.kubernetes.ResourceWatch;
import dev.isthmus.gateway.fleet.kubernetes.ResourceWatch.ResourceListener;
import dev.isthmus.gateway.fleet.kubernetes.ResourceWatch.WatchedResources;
import dev.isthmus.gateway.settings.Digests;
import dev.isthmus.gateway.settings.DiscoverConfig.KServeConfig;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.KubernetesConfig;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import dev.isthmus.gateway.settings.ModelNames;
import dev.isthmus.gateway.settings.ServerAddress.KubernetesService;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.settings.ValueReferences;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
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
        private final ResourceWatch<InferenceService> watch;
        private volatile List<InferenceService> services = List.of();

        NamespaceWatch(WatchKey key) {
            watch = new ResourceWatch<>(
                    new WatchedResources<>(
                            "Namespace '" + key.namespace() + "' with InferenceServices",
                            "its last models stay in use",
                            "/apis/serving.kserve.io/v1beta1/namespaces/" + key.namespace()
                                    + "/inferenceservices?labelSelector="
                                    + URLEncoder.encode(key.selector(), StandardCharsets.UTF_8),
                            InferenceService::of),
                    new ApiServer(key.access(), environment),
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
        }
    }

    /** Adds InferenceServices to a configuration. */
    static final class InferenceServiceModels {
        private static final String PRIVATE = "-private";
        private static final int MAX_NAME = 63;

        private final GatewayConfig config;
        private final Map<String, UpstreamConfig> upstreams;
        private final Map<String, ModelConfig> models;
        /** Who has a name, for messages. */
        private final Map<String, String> owners = new HashMap<>();

        private final List<OmittedService> omitted = new ArrayList<>();
        private ValueReferences references;

        /**
         * A service that is no model.
         *
         * @param why a line for the log
         * @param unexpected whether the configuration and the cluster contradict each other
         */
        record OmittedService(String why, boolean unexpected) {}

        InferenceServiceModels(GatewayConfig config) {
            this.config = config;
            upstreams = new HashMap<>(config.upstreams());
            models = new HashMap<>(config.models());
            references = config.references();
            new ModelNames(config.models())
                    .exact()
                    .keySet()
                    .forEach(name -> owners.put(name, "the configuration has a model or an alias of this name"));
        }

        /** Adds those that have been ready. */
        void add(KServeConfig settings, Collection<InferenceService> services) {
            services.stream()
                    .filter(InferenceService::known)
                    .sorted(Comparator.comparing(InferenceService::name))
                    .forEach(service -> add(settings, service));
        }

        /** The configuration with all that was added. */
        GatewayConfig config() {
            return config.withModels(upstreams, models, references);
        }

        /** Those that were not added. */
        List<OmittedService> omitted() {
            return omitted;
        }

        private void add(KServeConfig settings, InferenceService service) {
            String what = "InferenceService '" + settings.namespace() + "/" + service.name() + "'";
            UpstreamProtocol protocol = protocol(settings, service.stable());
            String owner = owners.get(service.name());
            if (protocol == null) {
                omitted.add(new OmittedService(what + " is no model: " + expected(service.stable()), false));
            } else if (owner != null) {
                omitted.add(new OmittedService(what + " is no model: " + owner, true));
            } else {
                owners.put(service.name(), what + " has this name");
                models.put(service.name(), model(settings, service, protocol));
            }
        }

        private static @Nullable UpstreamProtocol protocol(KServeConfig settings, Predictor predictor) {
            return settings.protocol() != null
                    ? settings.protocol()
                    : switch (predictor.protocol()) {
                        case "v2" -> UpstreamProtocol.REST;
                        case "grpc-v2" -> UpstreamProtocol.GRPC;
                        default -> null;
                    };
        }

        private static String expected(Predictor predictor) {
            return "protocol v2 or grpc-v2 is expected, got '" + predictor.protocol() + "'";
        }

        private ModelConfig model(KServeConfig settings, InferenceService service, UpstreamProtocol protocol) {
            List<TargetConfig> targets = service.revisions().isEmpty()
                    ? predictors(settings, service, protocol)
                    : revisions(settings, service, protocol);
            return targets.size() == 1 ? ModelConfig.of(targets.getFirst().upstream()) : ModelConfig.of(targets);
        }

        /** The stable predictor gets what the canaries leave. */
        private List<TargetConfig> predictors(
                KServeConfig settings, InferenceService service, UpstreamProtocol protocol) {
            List<TargetConfig> targets = new ArrayList<>();
            int left = 100;
            for (Canary canary : service.canaries()) {
                UpstreamProtocol ofCanary = protocol(settings, canary.predictor());
                if (ofCanary == null) {
                    String what = "Canary '" + canary.predictor().name() + "' of InferenceService '"
                            + settings.namespace() + "/" + service.name() + "' gets no calls: ";
                    omitted.add(new OmittedService(what + expected(canary.predictor()), true));
                } else {
                    left -= canary.percent();
                    targets.add(target(settings, service, canary.predictor(), ofCanary, canary.percent()));
                }
            }
            if (left > 0) {
                targets.addFirst(target(settings, service, service.stable(), protocol, left));
            }
            return targets;
        }

        private TargetConfig target(
                KServeConfig settings,
                InferenceService service,
                Predictor predictor,
                UpstreamProtocol protocol,
                int percent) {
            String name = predictor.service(service.name());
            String port = settings.port() == null ? predictor.port() : settings.port();
            boolean discovers = predictor.triton() && predictor.equals(service.stable());
            String upstream = upstream(
                    settings, name, new KubernetesService(settings.namespace(), name, port), protocol, discovers);
            return new TargetConfig(name, upstream, null, null, percent);
        }

        private List<TargetConfig> revisions(
                KServeConfig settings, InferenceService service, UpstreamProtocol protocol) {
            List<TargetConfig> targets = new ArrayList<>();
            int largest = Collections.max(service.revisions().values());
            service.revisions().forEach((revision, percent) -> {
                String port = protocol == UpstreamProtocol.GRPC ? "http2" : "http";
                boolean discovers = service.stable().triton() && percent == largest;
                var pods = new KubernetesService(settings.namespace(), podsOf(revision), port);
                String upstream = upstream(settings, revision, pods, protocol, discovers);
                targets.add(new TargetConfig(revision, upstream, null, null, percent));
            });
            return targets;
        }

        /**
         * Adds an upstream, and returns its name.
         *
         * @param discovers whether the models that its servers list are called by their own names, too
         */
        private String upstream(
                KServeConfig settings,
                String name,
                KubernetesService pods,
                UpstreamProtocol protocol,
                boolean discovers) {
            String upstream = settings.namespace() + "/" + name;
            upstreams.put(upstream, settings.upstream().to(protocol, List.of(pods), discovers));
            String index = Integer.toString(config.discover().kserve().indexOf(settings));
            references =
                    references.copied(List.of("discover", "kserve", index, "upstream"), List.of("upstreams", upstream));
            return upstream;
        }

        /** The Service of a revision's pods. Knative shortens names that Kubernetes would not take. */
        private static String podsOf(String revision) {
            if (revision.length() + PRIVATE.length() <= MAX_NAME) {
                return revision + PRIVATE;
            }
            String hash = Digests.hex("MD5", revision);
            return revision.substring(0, MAX_NAME - hash.length() - PRIVATE.length()) + hash + PRIVATE;
        }
    }
}
