package dev.isthmus.gateway.fleet.kserve;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.isthmus.gateway.fleet.kserve.InferenceService.Canary;
import dev.isthmus.gateway.fleet.kserve.InferenceService.Predictor;
import dev.isthmus.gateway.fleet.kserve.InferenceService.ServingRuntime;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.ConfigProblem;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.Digests;
import dev.isthmus.gateway.settings.DiscoverConfig.KServeConfig;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import dev.isthmus.gateway.settings.ModelNames;
import dev.isthmus.gateway.settings.ModelPattern;
import dev.isthmus.gateway.settings.NameGrammar;
import dev.isthmus.gateway.settings.ServerAddress.KubernetesService;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.settings.ValueReferences;
import java.io.StringReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.MarkedYAMLException;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.events.AliasEvent;

/** Adds InferenceServices to a configuration. */
final class InferenceServiceModels {
    private static final JsonMapper JSON = new JsonMapper();
    private static final String PRIVATE = "-private";
    private static final int MAX_NAME = 63;
    /** Characters of a value in a message. */
    private static final int MAX_SHOWN = 100;

    /** Of one InferenceService, since each has health checks and figures of its own. Others are found by the index. */
    private static final int MAX_MODELS = 200;

    private final GatewayConfig config;
    private final Map<String, Set<String>> listed;
    private final Map<String, UpstreamConfig> upstreams;
    private final Map<String, ModelConfig> models;
    /** Models that have other names than their InferenceServices. */
    private final Map<String, ModelConfig> others = new HashMap<>();

    private final List<ModelAlias> aliases = new ArrayList<>();
    /** Who has a name, for messages. */
    private final Map<String, String> owners = new HashMap<>();

    private final Set<ServiceProblem> problems = new LinkedHashSet<>();
    private ValueReferences references;

    /**
     * What is known of one namespace.
     *
     * @param runtimes by name
     * @param complete whether there are no other runtimes; false if some could not be listed
     * @param before what was known of its servers before
     */
    record SeenNamespace(
            List<InferenceService> services,
            Map<String, ServingRuntime> runtimes,
            boolean complete,
            KnownServers before) {}

    /**
     * What is known of the servers of one namespace.
     *
     * @param pods by Service
     * @param models those that the servers of an upstream list as ready
     */
    record KnownServers(Map<String, CalledPods> pods, Map<String, Set<String>> models) {
        static final KnownServers NONE = new KnownServers(Map.of(), Map.of());
    }

    /**
     * Pods that get a share of the calls.
     *
     * @param name of their predictor's Service, or of their revision
     */
    record CalledPods(String name, KubernetesService service, UpstreamProtocol protocol, int percent) {}

    /**
     * Why a service is not, or not wholly, what it could be.
     *
     * @param service its namespace and name
     * @param text a sentence without its full stop
     * @param unexpected whether something is wrong, in the cluster or between it and the configuration
     */
    record ServiceProblem(String service, String text, boolean unexpected) {}

    /** @param listed the models that are ready on the servers of an upstream, as these list them */
    InferenceServiceModels(GatewayConfig config, Map<String, Set<String>> listed) {
        this.config = config;
        this.listed = listed;
        upstreams = new HashMap<>(config.upstreams());
        models = new HashMap<>(config.models());
        references = config.references();
        new ModelNames(config.models())
                .exact()
                .keySet()
                .forEach(name -> owners.put(name, "the configuration has a model or an alias of this name"));
    }

    /** Adds those that have been ready. Returns what is known of their servers. */
    KnownServers add(KServeConfig settings, SeenNamespace seen) {
        NamespaceModels namespace = new NamespaceModels(settings, seen);
        seen.services().stream()
                .filter(InferenceService::known)
                .sorted(Comparator.comparing(InferenceService::name))
                .forEach(namespace::add);
        return namespace.servers;
    }

    /** The configuration with all that was added. Names of the file take precedence, then those of InferenceServices. */
    GatewayConfig config() {
        others.keySet().removeAll(owners.keySet());
        models.putAll(others);
        others.clear();
        for (ModelAlias each : aliases) {
            String owner = !each.isOf(models.get(each.model()))
                    ? "its model '" + each.model() + "' is another one's"
                    : models.containsKey(each.alias()) ? "a model has this name" : owners.get(each.alias());
            if (owner == null) {
                owners.put(each.alias(), "InferenceService '" + each.service() + "' has this alias");
                models.computeIfPresent(each.model(), each::addTo);
            } else {
                report(each.service(), ignored("alias", each.alias(), owner), true);
            }
        }
        aliases.clear();
        return config.withModels(upstreams, models, references);
    }

    /** Complete when the configuration was asked for. */
    Set<ServiceProblem> problems() {
        return problems;
    }

    private void report(String service, String text, boolean unexpected) {
        problems.add(new ServiceProblem(service, "InferenceService '" + service + "' " + text, unexpected));
    }

    private static String ignored(String annotation, String value, String reason) {
        String shown = value.length() <= MAX_SHOWN ? value : value.substring(0, MAX_SHOWN) + "...";
        return "has an annotation that does not count, " + InferenceService.ANNOTATION + annotation + ": '" + shown
                + "': " + reason;
    }

    private record ModelAlias(String service, String model, ModelConfig routed, String alias) {
        /** The names of others take precedence. */
        boolean isOf(@Nullable ModelConfig named) {
            return named != null && named.allTargets().equals(routed.allTargets());
        }

        ModelConfig addTo(String name, ModelConfig to) {
            List<String> all = new ArrayList<>(to.aliases());
            all.add(alias);
            return DefaultValues.with(to, "aliases", List.copyOf(all));
        }
    }

    /** The models of one item of the settings. */
    private final class NamespaceModels {
        private final KServeConfig settings;
        private final SeenNamespace seen;
        private final KnownServers servers = new KnownServers(new HashMap<>(), new HashMap<>());

        NamespaceModels(KServeConfig settings, SeenNamespace seen) {
            this.settings = settings;
            this.seen = seen;
        }

        void add(InferenceService service) {
            CalledPods stable = pods(service, service.stable(), 100, false);
            if (stable == null) {
                return;
            }
            List<CalledPods> pods =
                    service.revisions().isEmpty() ? predictors(service, stable) : revisions(service, stable.protocol());
            Set<String> names = models(service, pods);
            String owner = owners.get(service.name());
            if (owner != null && names.remove(service.name())) {
                report(service, "is no model: " + owner, true);
            }
            if (names.isEmpty()) {
                return;
            }
            List<TargetConfig> targets = pods.stream().map(this::target).toList();
            ModelConfig routed =
                    targets.size() == 1 ? ModelConfig.of(targets.getFirst().upstream()) : ModelConfig.of(targets);
            ModelConfig model = service.annotations().isEmpty() ? routed : annotated(service, names, routed);
            if (names.remove(service.name())) {
                owners.put(service.name(), "InferenceService '" + name(service) + "' has this name");
                models.put(service.name(), model);
            }
            names.forEach(name -> others.putIfAbsent(name, model));
        }

        private String name(InferenceService service) {
            return settings.namespace() + "/" + service.name();
        }

        private void report(InferenceService service, String text, boolean unexpected) {
            InferenceServiceModels.this.report(name(service), text, unexpected);
        }

        /**
         * Its own name, unless the servers that get most calls list others. What they listed last counts while none
         * responds. A new set.
         */
        private Set<String> models(InferenceService service, List<CalledPods> pods) {
            String upstream = upstream(Collections.max(pods, Comparator.comparing(CalledPods::percent)));
            Set<String> now = listed.getOrDefault(upstream, Set.of());
            Set<String> known = now.isEmpty() ? seen.before().models().getOrDefault(upstream, Set.of()) : now;
            if (known.isEmpty()) {
                return new TreeSet<>(Set.of(service.name()));
            }
            servers.models().put(upstream, known);
            return known.stream()
                    .filter(name -> NameGrammar.holds(name) && !ModelPattern.is(name))
                    .sorted()
                    .limit(MAX_MODELS)
                    .collect(Collectors.toCollection(TreeSet::new));
        }

        /** The model with what the annotations set. Its aliases are added at the end. */
        private ModelConfig annotated(InferenceService service, Set<String> names, ModelConfig model) {
            Map<String, Object> section = new HashMap<>(Map.of("upstream", "none"));
            ModelConfig read = model;
            for (Map.Entry<String, String> each : service.annotations().entrySet()) {
                String key = key(each.getKey());
                try {
                    section.put(key, value(key, each.getValue()));
                    read = read(service.name(), section);
                } catch (ConfigException e) {
                    section.remove(key);
                    String reasons =
                            e.located().stream().map(ConfigProblem::message).collect(Collectors.joining("; "));
                    report(service, ignored(each.getKey(), each.getValue(), reasons), true);
                }
            }
            String main = names.size() == 1 ? names.iterator().next() : service.name();
            for (String alias : read.aliases()) {
                if (names.contains(main)) {
                    aliases.add(new ModelAlias(name(service), main, model, alias));
                } else {
                    report(service, ignored("alias", alias, "one model is expected, got " + names), true);
                }
            }
            return DefaultValues.with(
                    read, "upstream", model.upstream(), "targets", model.targets(), "aliases", List.of());
        }

        /** The key of the setting that an annotation has; empty if it is not allowed. */
        private String key(String annotation) {
            boolean allowed = settings.annotations().stream()
                    .anyMatch(each -> each.name().toLowerCase(Locale.ROOT).equals(annotation));
            return !allowed ? "" : annotation.equals("alias") ? "aliases" : annotation;
        }

        /** The value of an annotation in YAML, of a list also its only item. */
        private Object value(String key, String text) throws ConfigException {
            if (key.isEmpty()) {
                String allowed = settings.annotations().toString().toLowerCase(Locale.ROOT);
                throw new ConfigException(List.of("'annotations' of discover.kserve allows " + allowed));
            }
            try {
                Yaml yaml = new Yaml(new SafeConstructor(new LoaderOptions()));
                // A few could stand for millions of values, or for one that has no end.
                if (StreamSupport.stream(yaml.parse(new StringReader(text)).spliterator(), false)
                        .anyMatch(AliasEvent.class::isInstance)) {
                    throw new ConfigException(List.of("a value without anchors is expected"));
                }
                JsonNode value = JSON.valueToTree(yaml.load(text));
                boolean list = key.equals("aliases") || key.equals("rates");
                return list && !value.isArray() ? List.of(value) : value.isNull() ? "" : value;
            } catch (YAMLException e) {
                String problem = e instanceof MarkedYAMLException marked ? marked.getProblem() : e.getMessage();
                throw new ConfigException(List.of("malformed YAML: " + problem));
            } catch (IllegalArgumentException | ClassCastException e) {
                throw new ConfigException(List.of("keys, and values that fit their tags, are expected"));
            }
        }

        /** Reads the section of a model, with what the configuration says of callers. It may refer to nothing. */
        private ModelConfig read(String name, Map<String, Object> section) throws ConfigException {
            Map<String, Object> document = new HashMap<>();
            document.put("upstreams", Map.of("none", Map.of("protocol", "rest", "endpoints", List.of("none:1"))));
            document.put("models", Map.of(name, section));
            if (config.authentication() != null) {
                String header = config.authentication().forward().principalHeader();
                document.put(
                        "authentication",
                        Map.of("client_certificates", Map.of(), "forward", Map.of("principal_header", header)));
            }
            String text = JSON.valueToTree(document).toString();
            if (text.contains("${")) {
                throw new ConfigException(List.of("a value without references is expected"));
            }
            return requireNonNull(ConfigLoader.parse("annotations", text, Path.of(""))
                    .models()
                    .get(name));
        }

        /** The pods of a predictor, as before if its runtime is missing; null if they are not called, which is reported. */
        private @Nullable CalledPods pods(InferenceService service, Predictor predictor, int percent, boolean canary) {
            String runtimeName = predictor.runtime();
            ServingRuntime runtime =
                    runtimeName == null ? null : seen.runtimes().get(runtimeName);
            boolean unknown = runtimeName != null && runtime == null;
            boolean decided = settings.protocol() != null || predictor.protocol() != null;
            List<String> protocols = predictor.protocols(runtime);
            String name = predictor.service(service.name());
            CalledPods pods = pods(name, protocols, ports(predictor, runtime), percent);
            CalledPods before = unknown ? seen.before().pods().get(name) : null;
            if (before != null && (!decided || (pods != null && pods.protocol() == before.protocol()))) {
                pods = new CalledPods(name, before.service(), before.protocol(), percent);
            }
            String reason = unknown && seen.complete()
                    ? "its runtime '" + runtimeName + "' is neither a ServingRuntime of the namespace nor a"
                            + " ClusterServingRuntime"
                    : pods != null
                            ? null
                            : unknown && !decided
                                    ? "its runtime '" + runtimeName
                                            + "' is not known, since not all ServingRuntimes and"
                                            + " ClusterServingRuntimes can be listed"
                                    : "protocol v2 or grpc-v2 is expected, got '" + String.join(", ", protocols) + "'";
            if (reason != null) {
                String refused = canary ? "gives its canary '" + predictor.name() + "' no calls: " : "is no model: ";
                report(
                        service,
                        (pods == null ? refused : "is served as it was deployed: ") + reason,
                        canary || (unknown && (seen.complete() || !decided)));
            }
            if (pods != null) {
                servers.pods().put(name, pods);
            }
            return pods;
        }

        private List<String> ports(Predictor predictor, @Nullable ServingRuntime runtime) {
            return runtime != null && predictor.ports().isEmpty() ? runtime.ports() : predictor.ports();
        }

        /** KServe's Service has the server's first port as that of its routes, which decides if it speaks both. */
        private @Nullable CalledPods pods(String name, List<String> protocols, List<String> ports, int percent) {
            boolean both = protocols.contains("v2") && protocols.contains("grpc-v2");
            boolean grpc = settings.protocol() != null
                    ? settings.protocol() == UpstreamProtocol.GRPC
                    : both ? !ports.isEmpty() && isGrpc(ports.getFirst()) : protocols.contains("grpc-v2");
            if (settings.protocol() == null && !grpc && !protocols.contains("v2")) {
                return null;
            }
            String port = settings.port();
            if (port == null && ports.size() > 1) {
                port = ports.stream()
                        .filter(each -> isGrpc(each) == grpc)
                        .findFirst()
                        .orElse(ports.getFirst());
            }
            return new CalledPods(
                    name,
                    new KubernetesService(settings.namespace(), name, port),
                    grpc ? UpstreamProtocol.GRPC : UpstreamProtocol.REST,
                    percent);
        }

        /** The stable predictor gets what the canaries leave. */
        private List<CalledPods> predictors(InferenceService service, CalledPods stable) {
            List<CalledPods> all = new ArrayList<>();
            int left = stable.percent();
            for (Canary canary : service.canaries()) {
                CalledPods pods = pods(service, canary.predictor(), canary.percent(), true);
                if (pods != null) {
                    left -= pods.percent();
                    all.add(pods);
                }
            }
            if (left > 0) {
                all.addFirst(new CalledPods(stable.name(), stable.service(), stable.protocol(), left));
            }
            return all;
        }

        private List<CalledPods> revisions(InferenceService service, UpstreamProtocol protocol) {
            String port = protocol == UpstreamProtocol.GRPC ? "http2" : "http";
            List<CalledPods> all = new ArrayList<>();
            service.revisions().forEach((revision, percent) -> {
                var pods = new KubernetesService(settings.namespace(), podsOf(revision), port);
                all.add(new CalledPods(revision, pods, protocol, percent));
            });
            return all;
        }

        private String upstream(CalledPods pods) {
            return settings.namespace() + "/" + pods.name();
        }

        /** Adds the upstream. */
        private TargetConfig target(CalledPods pods) {
            String upstream = upstream(pods);
            List<KubernetesService> endpoints = List.of(pods.service());
            upstreams.put(
                    upstream,
                    DefaultValues.with(
                            settings.upstream(),
                            "protocol",
                            pods.protocol(),
                            "endpoints",
                            endpoints,
                            "discover",
                            true));
            String index = Integer.toString(config.discover().kserve().indexOf(settings));
            references =
                    references.copied(List.of("discover", "kserve", index, "upstream"), List.of("upstreams", upstream));
            return new TargetConfig(pods.name(), upstream, null, null, pods.percent());
        }
    }

    /** As KServe tells it by the name of a port. */
    private static boolean isGrpc(String port) {
        return port.contains("grpc") || port.contains("h2c");
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
