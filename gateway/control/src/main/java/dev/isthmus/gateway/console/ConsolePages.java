package dev.isthmus.gateway.console;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.isthmus.gateway.admin.AdminQuery;
import dev.isthmus.gateway.admin.AdminRequest;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.call.GatewayReadiness;
import dev.isthmus.gateway.catalogue.Catalogue;
import dev.isthmus.gateway.console.FleetReading.MeterKey;
import dev.isthmus.gateway.console.ModelsDocument.FeatureFigures;
import dev.isthmus.gateway.console.SubjectHistory.SubjectKind;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.reload.ReloadResult.LastReload;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.settings.AdminConfig;
import dev.isthmus.gateway.settings.GatewayConfig;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
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

    /** The meters of models' features. */
    public static MeterIndex featureMeters(MeterRegistry registry) {
        return FeatureFigures.meters(registry);
    }

    public void addTo(AdminRoutes routes) {
        new ConsoleFiles(this::hasPeers).addTo(routes);
        routes.route("GET", "/console/overview", this::overview)
                .route("GET", "/console/models", this::models)
                .route("GET", "/console/traffic", this::traffic)
                .route("GET", "/console/totals", this::totals);
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

    /** What was counted of each model since the start, read now. */
    private AdminResponse totals(AdminRequest request) {
        AdminQuery.of(request);
        FleetReading now = history.reading();
        ArrayNode models = JsonNodeFactory.instance.arrayNode();
        now.models().forEach((model, totals) -> models.add(totals.document(model)));
        Map<String, Double> active = now.keys(FleetReading.UNDER_WAY)
                .collect(Collectors.toMap(MeterKey::subject, key -> now.values().getOrDefault(key, 0.0)));
        return AdminResponse.json(200, Map.of("models", models, "in_flight", active));
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
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("used", budget.used());
        document.put("limit", budget.limit());
        document.put("refused_calls", budget.refused());
        return document;
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
}
