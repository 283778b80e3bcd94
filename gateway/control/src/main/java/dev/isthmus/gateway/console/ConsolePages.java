package dev.isthmus.gateway.console;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.admin.AdminQuery;
import dev.isthmus.gateway.admin.AdminRequest;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.call.GatewayReadiness;
import dev.isthmus.gateway.catalogue.Catalogue;
import dev.isthmus.gateway.catalogue.IndexEntry;
import dev.isthmus.gateway.console.ConsolePages.ModelsDocument.FeatureFigures;
import dev.isthmus.gateway.console.SubjectHistory.SubjectKind;
import dev.isthmus.gateway.console.TrafficHistory.TrafficFigures;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.reload.ReloadResult.LastReload;
import dev.isthmus.gateway.routing.RequestAttributes;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RouteDecision.TargetShare;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.settings.AdminConfig;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import dev.isthmus.gateway.settings.ModelPattern;
import dev.isthmus.gateway.settings.RequestValidation;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The routes of the console: its files, and the documents that only it needs.
 *
 * @param version of the build
 * @param inFlight how many calls are active
 * @param lastReload null if there was none
 * @param features of {@link #featureMeters}
 */
public record ConsolePages(
        String version,
        Supplier<RunningConfiguration> running,
        GatewayReadiness readiness,
        MemoryBudget memory,
        LongSupplier inFlight,
        Supplier<@Nullable LastReload> lastReload,
        TrafficHistory history,
        MeterIndex features) {
    /** A model takes half a kilobyte, and more with several targets and servers. */
    private static final int MAX_MODELS = 500;

    public static MeterIndex featureMeters(MeterRegistry registry) {
        return FeatureFigures.meters(registry);
    }

    public void addTo(AdminRoutes routes) {
        new ConsoleFiles(this::hasPeers).addTo(routes);
        routes.route("GET", "/console/overview", this::overview)
                .route("GET", "/console/models", this::models)
                .route("GET", "/console/traffic", this::traffic)
                .route("GET", "/console/rates", this::rates);
    }

    private boolean hasPeers() {
        AdminConfig admin = running.get().config().admin();
        return admin != null && admin.peers() != null;
    }

    private AdminResponse overview(AdminRequest request) {
        return charts(overview(running.get(), minutes(AdminQuery.of(request, "minutes"))));
    }

    /** A document with charts, and where there are longer ones. */
    private AdminResponse charts(Map<String, @Nullable Object> document) {
        AdminConfig admin = running.get().config().admin();
        document.put("dashboards", admin == null ? null : admin.dashboards());
        return AdminResponse.json(200, document);
    }

    private static int minutes(AdminQuery query) {
        return query.integer("minutes", TrafficHistory.MINUTES, TrafficHistory.MOST_MINUTES, TrafficHistory.MINUTES);
    }

    /** Without a name it is about all subjects of the kind that have no series of their own. */
    private AdminResponse traffic(AdminRequest request) {
        AdminQuery query = AdminQuery.of(request, "kind", "of", "name", "minutes");
        String[] kinds =
                Arrays.stream(SubjectKind.values()).map(SubjectKind::label).toArray(String[]::new);
        String label = query.oneOf("kind", SubjectKind.MODEL.label(), kinds);
        SubjectKind kind = SubjectKind.valueOf(label.toUpperCase(Locale.ROOT));
        String name = query.text("name", "");
        SubjectKey subject = name.isEmpty() ? null : new SubjectKey(query.text("of", ""), name);
        return charts(history.document(kind, subject, minutes(query)));
    }

    /** The rates of models, the busiest first, and of servers, from the last reading but one to the last. */
    private AdminResponse rates(AdminRequest request) {
        AdminQuery.of(request);
        List<FleetReading> readings = history.lastTwo();
        FleetReading before = readings.getFirst();
        FleetReading now = readings.getLast();
        double seconds = Math.max(1, now.nanos() - before.nanos()) / 1e9;
        List<ObjectNode> models = now.models().keySet().stream()
                .sorted(Comparator.comparingLong(
                                (String model) -> -now.model(model, before).calls())
                        .thenComparing(model -> model))
                .map(model -> now.model(model, before)
                        .rates(seconds)
                        .put("model", model)
                        .put("in_flight", now.value(FleetReading.UNDER_WAY, model, "")))
                .toList();
        List<ObjectNode> servers = new ArrayList<>();
        for (ReplicaStatus server : running.get().catalogue().members()) {
            CallTotals calls = now.server(SubjectKey.of(server), before);
            servers.add(JsonNodeFactory.instance
                    .objectNode()
                    .put("upstream", server.upstream())
                    .put("server", server.label())
                    .put("ready", server.ready())
                    .put("ejected", server.ejected())
                    .put("reason", server.reason())
                    .put("requests_per_second", calls.calls() / seconds)
                    .put("failed_per_second", calls.failed() / seconds)
                    .put("errors_per_second", calls.serverErrors() / seconds)
                    .put("in_flight", now.value(FleetReading.SERVER_UNDER_WAY, server.upstream(), server.label())));
        }
        return AdminResponse.json(200, Map.of("seconds", seconds, "models", models, "servers", servers));
    }

    private AdminResponse models(AdminRequest request) {
        AdminQuery query = AdminQuery.of(request, "search", "limit");
        int limit = query.integer("limit", 1, MAX_MODELS, MAX_MODELS);
        ModelsDocument models =
                new ModelsDocument(running.get(), history.earlier(), history.latest(), FeatureFigures.of(features));
        return AdminResponse.json(200, models.document(query.text("search", ""), limit));
    }

    /**
     * What the page Overview shows: the state of the gateway, and its traffic.
     *
     * @param minutes how long the charts are
     */
    private Map<String, @Nullable Object> overview(RunningConfiguration current, int minutes) {
        String obstacle = readiness.obstacle();
        LastReload reload = lastReload.get();
        Map<String, @Nullable Object> document = new LinkedHashMap<>();
        document.put("version", version);
        document.put("state", obstacle == null ? "serving" : obstacle);
        document.put("ready", obstacle == null);
        document.put("generation", current.generation());
        document.put("loaded_seconds_ago", TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - current.loadedNanos()));
        document.put("last_reload", reload == null ? null : reload.document());
        document.put("memory", usage());
        document.put("active_calls", inFlight.getAsLong());
        document.put("models", current.routes().routes().size());
        document.put("servers", servers(current.catalogue()));
        document.put("traffic", history.document(minutes));
        return document;
    }

    private Map<String, Object> usage() {
        MemoryBudget.BudgetUsage budget = memory.usage();
        return Map.of("used", budget.used(), "limit", budget.limit(), "refused_calls", budget.refused());
    }

    private static Map<String, Object> servers(Catalogue catalogue) {
        Collection<ReplicaStatus> servers = catalogue.members();
        long ready = servers.stream()
                .filter(server -> server.ready() && !server.ejected())
                .count();
        return Map.of("all", servers.size(), "ready", ready, "fleet_ready", catalogue.ready());
    }

    /**
     * The configuration in effect and what was made from it.
     *
     * @param generation 1 at the start
     * @param loadedNanos when it was loaded, on the scale of {@link System#nanoTime()}
     */
    public record RunningConfiguration(
            long generation, long loadedNanos, GatewayConfig config, RoutingTable routes, Catalogue catalogue) {}

    /**
     * What the page Models shows: routes, their targets and servers, and their traffic of the last minute.
     *
     * @param before null if there is none yet
     */
    record ModelsDocument(
            RunningConfiguration running, @Nullable FleetReading before, FleetReading now, FeatureFigures features) {
        private static final double NANOS = 1e9;

        /** From the earlier reading to this one; 0 without an earlier one. */
        private double seconds() {
            return before == null ? 0 : (now.nanos() - before.nanos()) / NANOS;
        }

        /**
         * The models that match; if there are more than the limit, those with the most errors of servers, those that are not
         * ready, and those with the most calls.
         *
         * @param search words, each of which is part of a model's text
         */
        Map<String, Object> document(String search, int limit) {
            List<ListedModel> all = listed();
            List<ListedModel> matching = ModelSearch.of(running, search).filter(all);
            List<ListedModel> shown = matching.size() <= limit ? matching : worst(matching, limit);
            Map<String, List<IndexEntry>> versions = running.catalogue()
                    .versions(shown.stream().map(ListedModel::name).collect(Collectors.toSet()));
            Map<String, Object> document = new LinkedHashMap<>();
            document.put("window_seconds", Math.round(seconds()));
            document.put("all", all.size());
            document.put("matching", matching.size());
            document.put(
                    "models",
                    shown.stream()
                            .map(model -> model(model, versions.getOrDefault(model.name(), List.of())))
                            .toList());
            return document;
        }

        /** A model with what it is ranked by, which takes longer to find than to compare. */
        private record RankedModel(ListedModel model, long errors, boolean notReady, long calls) {
            static final Comparator<RankedModel> WORST_FIRST = Comparator.comparingLong(RankedModel::errors)
                    .thenComparing(RankedModel::notReady)
                    .thenComparingLong(RankedModel::calls)
                    .reversed();
        }

        private List<ListedModel> worst(List<ListedModel> models, int limit) {
            Map<String, Boolean> ready = running.catalogue().readyModels();
            return models.stream()
                    .map(model -> new RankedModel(
                            model,
                            recent(model, CallTotals::serverErrors),
                            Boolean.FALSE.equals(ready.get(model.name())),
                            recent(model, CallTotals::calls)))
                    .sorted(RankedModel.WORST_FIRST)
                    .limit(limit)
                    .map(RankedModel::model)
                    .toList();
        }

        /** A route, or a model without one of its own. */
        record ListedModel(
                String name, String kind, @Nullable Route route) {
            List<String> aliases() {
                return route == null ? List.of() : route.config().aliases();
            }

            Map<String, String> labels() {
                return route == null ? Map.of() : new TreeMap<>(route.config().versions());
            }
        }

        private List<ListedModel> listed() {
            Set<String> others = new TreeSet<>(running.catalogue().discovered().keySet());
            others.addAll(running.catalogue().listed());
            others.addAll(now.models().keySet());
            List<ListedModel> models = new ArrayList<>();
            for (Route route : running.routes().routes()) {
                models.add(new ListedModel(route.key(), ModelPattern.is(route.key()) ? "pattern" : "model", route));
                others.remove(route.key());
            }
            for (String name : others) {
                Route route = running.routes().find(ModelRef.of(name));
                models.add(new ListedModel(name, kind(route), route));
            }
            return models;
        }

        /** How the name of a model that is not configured by name is routed. */
        private static String kind(@Nullable Route route) {
            if (route == null) {
                return "not configured";
            }
            return ModelPattern.is(route.key())
                    ? "by pattern"
                    : route.key().equals(RoutingTable.DEFAULT) ? "default upstream" : RoutingTable.DISCOVERED;
        }

        /** What was counted since the earlier reading. */
        private long recent(ListedModel model, ToLongFunction<CallTotals> count) {
            return before == null ? 0 : count.applyAsLong(now.model(model.name(), before));
        }

        private Map<String, @Nullable Object> model(ListedModel model, List<IndexEntry> versions) {
            Route route = model.route();
            Map<String, @Nullable Object> document = new LinkedHashMap<>();
            document.put("name", model.name());
            document.put("kind", model.kind());
            document.put("aliases", model.aliases());
            document.put("labels", model.labels());
            document.put("targets", route == null ? List.of() : targets(route, model.name()));
            document.put("traffic", traffic(model.name()));
            document.put(
                    "versions",
                    versions.stream()
                            .map(each -> Map.of(
                                    "version",
                                    each.version(),
                                    "state",
                                    each.state().text()))
                            .toList());
            document.put("validation", validation(model));
            document.put("cache", features.cache(model.name()));
            document.put("batching", features.batching(model.name()));
            document.put("drift", running.catalogue().drift(model.name()));
            return document;
        }

        /** What happens to requests that do not match the model's metadata, and how many there were since the start. */
        private Map<String, Object> validation(ListedModel model) {
            RequestValidation own =
                    model.route() == null ? null : model.route().config().validate();
            RequestValidation mode =
                    Objects.requireNonNullElse(own, running.config().validate());
            return Map.of("mode", mode.name().toLowerCase(Locale.ROOT), "invalid", features.invalid(model.name()));
        }

        private Map<String, @Nullable Object> traffic(String model) {
            CallTotals earlier = before == null ? now.of(model) : before.of(model);
            return TrafficFigures.between(earlier, now.of(model), seconds()).document();
        }

        /** The targets of calls without a version; none if there is no default version. */
        private static Map<String, TargetShare> shares(Route route, String model) {
            try {
                return route.decide(ModelRef.of(model), RequestAttributes.NONE).targets();
            } catch (OipException noDefaultVersion) {
                return Map.of();
            }
        }

        private List<Map<String, Object>> targets(Route route, String model) {
            Map<String, TargetShare> shares = shares(route, model);
            long all = route.config().allTargets().stream()
                    .mapToLong(target -> calls(route, target))
                    .sum();
            List<Map<String, Object>> targets = new ArrayList<>();
            for (TargetConfig target : route.config().allTargets()) {
                Map<String, @Nullable Object> document = new LinkedHashMap<>();
                document.put("name", target.label());
                document.put("upstream", target.upstream());
                document.put("model", Objects.requireNonNullElse(target.model(), ""));
                document.put("version", Objects.requireNonNullElse(target.version(), ""));
                document.put("share", TrafficFigures.rounded(route.split().share(target.label())));
                long own = calls(route, target);
                document.put("calls", own);
                document.put("real_share", all == 0 ? null : TrafficFigures.rounded((double) own / all));
                TargetShare share = shares.get(target.label());
                document.put("replicas", share == null ? List.of() : replicas(share.target()));
                targets.add(document);
            }
            return targets;
        }

        /** The calls of a target since the earlier reading. */
        private long calls(Route route, TargetConfig target) {
            SubjectKey key = new SubjectKey(route.key(), target.label());
            return before == null ? 0 : now.target(key, before).calls();
        }

        /** A server of a target, and whether the model is ready there; null if it is not known. */
        private record ListedReplica(
                String server,
                boolean serverReady,
                @Nullable Boolean ready) {}

        private List<ListedReplica> replicas(Target target) {
            return running.catalogue().members(target.upstream()).stream()
                    .map(each -> new ListedReplica(
                            each.label(),
                            each.ready() && !each.ejected(),
                            each.models().get(target.model())))
                    .toList();
        }

        /** Finds models by words in what the page Models shows of them: names, kind, aliases, drift, targets, servers. */
        record ModelSearch(RunningConfiguration running, List<String> words) {
            static ModelSearch of(RunningConfiguration running, String search) {
                String words = search.strip().toLowerCase(Locale.ROOT);
                return new ModelSearch(running, words.isEmpty() ? List.of() : List.of(words.split("\\s+")));
            }

            List<ListedModel> filter(List<ListedModel> models) {
                return words.isEmpty()
                        ? models
                        : models.stream().filter(this::matches).toList();
            }

            /** Servers are looked at only for words that are nowhere else. */
            private boolean matches(ListedModel model) {
                String text = text(model).toLowerCase(Locale.ROOT);
                List<String> missing =
                        words.stream().filter(word -> !text.contains(word)).toList();
                if (missing.isEmpty() || model.route() == null) {
                    return missing.isEmpty();
                }
                String servers = servers(model.route(), model.name()).toLowerCase(Locale.ROOT);
                return missing.stream().allMatch(servers::contains);
            }

            private String text(ListedModel model) {
                StringBuilder text = new StringBuilder(model.name()).append(' ').append(model.kind());
                model.aliases().forEach(alias -> text.append(' ').append(alias));
                if (!running.catalogue().drift(model.name()).isEmpty()) {
                    text.append(" drift");
                }
                Route route = model.route();
                if (route != null) {
                    for (TargetConfig target : route.config().allTargets()) {
                        text.append(' ').append(target.label()).append(' ').append(target.upstream());
                        text.append(' ').append(Objects.requireNonNullElse(target.model(), ""));
                        text.append(' ').append(Objects.requireNonNullElse(target.version(), ""));
                    }
                }
                return text.toString();
            }

            private String servers(Route route, String model) {
                return shares(route, model).values().stream()
                        .flatMap(share ->
                                running.catalogue().members(share.target().upstream()).stream())
                        .map(ReplicaStatus::label)
                        .collect(Collectors.joining(" "));
            }
        }

        /** What the meters say of the caches, the batching and the validation of models, since each was configured. */
        static final class FeatureFigures {
            private static final Set<String> METERS = Set.of(
                    "isthmus.cache.requests",
                    "isthmus.cache.evictions",
                    "isthmus.cache.size",
                    "isthmus.cache.entries",
                    "isthmus.batching.requests",
                    "isthmus.batching.calls",
                    "isthmus.batching.limit",
                    "isthmus.batching.wait",
                    "isthmus.requests.invalid");

            /** By model, and by the name of the figure. */
            private final Map<String, Map<String, Double>> caches = new HashMap<>();

            private final Map<String, Map<String, Double>> batching = new HashMap<>();
            private final Map<String, Map<String, Double>> invalid = new HashMap<>();

            /** The meters that {@link #of} reads. */
            static MeterIndex meters(MeterRegistry registry) {
                return new MeterIndex(registry, METERS);
            }

            static FeatureFigures of(MeterIndex meters) {
                FeatureFigures figures = new FeatureFigures();
                meters.forEach(figures::read);
                return figures;
            }

            private void read(Meter meter) {
                switch (meter.getId().getName()) {
                    case "isthmus.cache.requests" -> add(caches, meter, ofCache(FleetReading.tag(meter, "result")));
                    case "isthmus.cache.evictions" -> add(caches, meter, "evictions");
                    case "isthmus.cache.size" -> add(caches, meter, "bytes");
                    case "isthmus.cache.entries" -> add(caches, meter, "entries");
                    case "isthmus.batching.requests" ->
                        add(batching, meter, ofBatching(FleetReading.tag(meter, "outcome")));
                    case "isthmus.batching.calls" -> add(batching, meter, "calls");
                    case "isthmus.batching.limit" -> add(batching, meter, "limit");
                    case "isthmus.batching.wait" -> {
                        if (meter instanceof FunctionTimer waits) {
                            add(batching, meter, "waits", waits.count());
                            add(batching, meter, "wait_seconds", waits.totalTime(TimeUnit.SECONDS));
                        }
                    }
                    case "isthmus.requests.invalid" -> add(invalid, meter, FleetReading.tag(meter, "reason"));
                    default -> {}
                }
            }

            private static String ofCache(String result) {
                return switch (result) {
                    case "hit" -> "hits";
                    case "collapsed" -> "joined";
                    case "miss", "refreshed" -> "misses";
                    default -> "bypassed";
                };
            }

            private static String ofBatching(String outcome) {
                return switch (outcome) {
                    case "joined", "alone" -> outcome;
                    default -> "not_joinable";
                };
            }

            private static void add(Map<String, Map<String, Double>> all, Meter meter, String figure) {
                if (meter instanceof Counter counter) {
                    add(all, meter, figure, counter.count());
                } else if (meter instanceof Gauge gauge) {
                    add(all, meter, figure, gauge.value());
                }
            }

            private static void add(Map<String, Map<String, Double>> all, Meter meter, String figure, double value) {
                all.computeIfAbsent(FleetReading.tag(meter, "model"), model -> new TreeMap<>())
                        .merge(figure, value, Double::sum);
            }

            /** What a model's cache does; null without one. */
            @Nullable
            Map<String, Double> cache(String model) {
                return caches.get(model);
            }

            /** How many requests did not match the model's metadata, by reason. */
            Map<String, Double> invalid(String model) {
                return invalid.getOrDefault(model, Map.of());
            }

            /** What becomes of a model's requests by batching; null without it. */
            @Nullable
            Map<String, Double> batching(String model) {
                return batching.get(model);
            }
        }
    }
}
