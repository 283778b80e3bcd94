package dev.isthmus.gateway.fleet.kserve;

import dev.isthmus.gateway.fleet.kserve.InferenceService.Canary;
import dev.isthmus.gateway.fleet.kserve.InferenceService.Predictor;
import dev.isthmus.gateway.settings.DiscoverConfig.KServeConfig;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import dev.isthmus.gateway.settings.ModelNames;
import dev.isthmus.gateway.settings.ServerAddress.KubernetesService;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.settings.ValueReferences;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Adds InferenceServices to a configuration. */
final class InferenceServiceModels {
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
    private List<TargetConfig> predictors(KServeConfig settings, InferenceService service, UpstreamProtocol protocol) {
        List<TargetConfig> targets = new ArrayList<>();
        int left = 100;
        for (Canary canary : service.canaries()) {
            UpstreamProtocol ofCanary = protocol(settings, canary.predictor());
            if (ofCanary == null) {
                String what = "Canary '" + canary.predictor().name() + "' of InferenceService '" + settings.namespace()
                        + "/" + service.name() + "' gets no calls: ";
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
        String upstream =
                upstream(settings, name, new KubernetesService(settings.namespace(), name, port), protocol, discovers);
        return new TargetConfig(name, upstream, null, null, percent);
    }

    private List<TargetConfig> revisions(KServeConfig settings, InferenceService service, UpstreamProtocol protocol) {
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
            KServeConfig settings, String name, KubernetesService pods, UpstreamProtocol protocol, boolean discovers) {
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
        try {
            byte[] digest = MessageDigest.getInstance("MD5").digest(revision.getBytes(StandardCharsets.UTF_8));
            String hash = HexFormat.of().formatHex(digest);
            return revision.substring(0, MAX_NAME - hash.length() - PRIVATE.length()) + hash + PRIVATE;
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java runtime has MD5", e);
        }
    }
}
