package dev.isthmus.gateway.console;

import dev.isthmus.gateway.call.GatewayReadiness;
import dev.isthmus.gateway.catalogue.Catalogue;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.reload.LastReload;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What the page Overview shows: the state of the gateway, and its traffic.
 *
 * @param inFlight how many calls are active
 */
record OverviewDocument(
        String version,
        GatewayReadiness readiness,
        MemoryBudget memory,
        LongSupplier inFlight,
        Supplier<@Nullable LastReload> lastReload,
        TrafficHistory history) {

    /** @param minutes how long the charts are */
    Map<String, @Nullable Object> of(RunningConfiguration running, int minutes) {
        String obstacle = readiness.obstacle();
        LastReload reload = lastReload.get();
        Map<String, @Nullable Object> document = new LinkedHashMap<>();
        document.put("version", version);
        document.put("state", obstacle == null ? "serving" : obstacle);
        document.put("ready", obstacle == null);
        document.put("generation", running.generation());
        document.put("loaded_seconds_ago", TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - running.loadedNanos()));
        document.put("last_reload", reload == null ? null : reload.document());
        document.put("memory", usage());
        document.put("active_calls", inFlight.getAsLong());
        document.put("models", running.routes().routes().size());
        document.put("servers", servers(running.catalogue()));
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
}
