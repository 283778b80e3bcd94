package dev.isthmus.gateway.console;

import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.routing.RequestAttributes;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RouteDecision.TargetShare;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import dev.isthmus.gateway.settings.ModelPattern;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** What the page Models shows: every route, its targets and servers, and its traffic of the last minute. */
final class ModelsDocument {
    private static final double NANOS = 1e9;

    private final RunningConfiguration running;
    private final @Nullable TrafficReading before;
    private final TrafficReading now;
    private final double seconds;

    /** @param before null if there is none yet */
    ModelsDocument(RunningConfiguration running, @Nullable TrafficReading before, TrafficReading now) {
        this.running = running;
        this.before = before;
        this.now = now;
        this.seconds = before == null ? 0 : (now.nanos() - before.nanos()) / NANOS;
    }

    Map<String, Object> document() {
        List<Map<String, Object>> models = new ArrayList<>();
        for (Route route : running.routes().routes()) {
            models.add(model(route));
        }
        TreeSet<String> others = new TreeSet<>(running.catalogue().discovered().keySet());
        others.addAll(now.models().keySet());
        running.routes().routes().forEach(route -> others.remove(route.key()));
        for (String name : others) {
            models.add(unconfigured(name));
        }
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("window_seconds", Math.round(seconds));
        document.put("models", models);
        return document;
    }

    private Map<String, Object> unconfigured(String name) {
        boolean discovered = running.catalogue().discovered().containsKey(name);
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("name", name);
        document.put("kind", discovered ? "discovered" : "not configured");
        document.put("aliases", List.of());
        document.put("labels", Map.of());
        document.put("targets", discovered ? discoveredTarget(name) : List.of());
        document.put("traffic", traffic(name));
        return document;
    }

    private List<Map<String, Object>> discoveredTarget(String name) {
        Route route = running.routes().find(ModelRef.of(name));
        return route == null ? List.of() : targets(route, name);
    }

    private Map<String, Object> model(Route route) {
        boolean pattern = ModelPattern.is(route.key());
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("name", route.key());
        document.put("kind", pattern ? "pattern" : "model");
        document.put("aliases", route.config().aliases());
        document.put("labels", new TreeMap<>(route.config().versions()));
        document.put("targets", targets(route, route.key()));
        document.put("traffic", traffic(route.key()));
        return document;
    }

    private Map<String, @Nullable Object> traffic(String model) {
        CallTotals earlier = before == null ? now.of(model) : before.of(model);
        return TrafficFigures.between(earlier, now.of(model), seconds).document();
    }

    private List<Map<String, Object>> targets(Route route, String model) {
        Map<String, TargetShare> shares;
        try {
            shares = route.decide(ModelRef.of(model), RequestAttributes.NONE).targets();
        } catch (OipException noDefaultVersion) {
            shares = Map.of();
        }
        Map<String, Long> calls = calls(route);
        long all = calls.values().stream().mapToLong(Long::longValue).sum();
        List<Map<String, Object>> targets = new ArrayList<>();
        for (TargetConfig target : route.config().allTargets()) {
            Map<String, @Nullable Object> document = new LinkedHashMap<>();
            document.put("name", target.label());
            document.put("upstream", target.upstream());
            document.put("model", Objects.requireNonNullElse(target.model(), ""));
            document.put("version", Objects.requireNonNullElse(target.version(), ""));
            document.put("share", TrafficFigures.rounded(route.split().share(target.label())));
            long own = Objects.requireNonNullElse(calls.get(target.label()), 0L);
            document.put("calls", own);
            document.put("real_share", all == 0 ? null : TrafficFigures.rounded((double) own / all));
            TargetShare share = shares.get(target.label());
            document.put("replicas", share == null ? List.of() : replicas(share.target()));
            targets.add(document);
        }
        return targets;
    }

    /** The calls of each target since the earlier reading. */
    private Map<String, Long> calls(Route route) {
        Map<String, Long> calls = new LinkedHashMap<>();
        for (TargetConfig target : route.config().allTargets()) {
            var key = new TrafficReading.TargetKey(route.key(), target.label());
            long after = Objects.requireNonNullElse(now.targets().get(key), 0L);
            long earlier = before == null
                    ? after
                    : Objects.requireNonNullElse(before.targets().get(key), 0L);
            calls.put(target.label(), Math.max(0, after - earlier));
        }
        return calls;
    }

    private List<Map<String, Object>> replicas(Target target) {
        List<Map<String, Object>> replicas = new ArrayList<>();
        for (ReplicaStatus replica : running.catalogue().members(target.upstream())) {
            Boolean model = replica.models().get(target.model());
            Map<String, @Nullable Object> document = new LinkedHashMap<>();
            document.put("server", replica.label());
            document.put("server_ready", replica.ready() && !replica.ejected());
            document.put("ready", model);
            replicas.add(document);
        }
        return replicas;
    }
}
