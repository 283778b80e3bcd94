package dev.isthmus.gateway.problems;

import dev.isthmus.gateway.console.CallTotals;
import dev.isthmus.gateway.console.FleetReading.MeterKey;
import dev.isthmus.gateway.console.SubjectKey;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.oip.ErrorCode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Models whose calls fail because of servers or the gateway, and models that are not ready on servers that are. */
record ModelProblems(ProblemSearch search, Map<String, List<ReplicaStatus>> upstreams) {
    /** The share of failed calls from which on a model is a problem. */
    private static final double NOTICED = 0.01;
    /** The share from which on it is critical; the alert IsthmusErrors has the same. */
    private static final double CRITICAL = 0.05;
    /** Fewer failed calls may be chance. */
    private static final int FEWEST = 2;

    ModelProblems(ProblemSearch search) {
        this(search, ServerProblems.upstreams(search.gateway()));
    }

    void addTo(List<GatewayProblem> found) {
        search.now().models().keySet().forEach(model -> ProblemSearch.add(failing(model), found));
        Set<String> excluded = search.gateway().excluded();
        excluded.stream().sorted().map(ModelProblems::excluded).forEach(found::add);
        search.gateway()
                .models()
                .forEach((model, ready) ->
                        ProblemSearch.add(ready || excluded.contains(model) ? null : notReady(model), found));
    }

    private static GatewayProblem excluded(String model) {
        return new GatewayProblem(
                ProblemKind.MODEL_EXCLUDED,
                Map.of("model", model),
                "Local model '" + model + "' is not loaded any more: it ran at three crashes of the process of the"
                        + " local models.",
                "Native code of the model, ONNX Runtime or a GPU library ended the process. The log of the gateway has"
                        + " the signal and the summary of each crash.",
                "Replace the model, then restart the gateway or change the section 'local'. With model_control:"
                        + " explicit it can be loaded at once.",
                ProblemText.page("models", "search", model));
    }

    private @Nullable GatewayProblem failing(String model) {
        CallTotals calls = search.model(model);
        double share = calls.badShare();
        if (calls.bad() < FEWEST || share < NOTICED) {
            return null;
        }
        ErrorCode most = calls.failures().entrySet().stream()
                .max(Map.Entry.comparingByValue())
                .map(Map.Entry::getKey)
                .orElse(ErrorCode.INTERNAL);
        return new GatewayProblem(
                        ProblemKind.MODEL_FAILING,
                        Map.of("model", model),
                        "Model '" + model + "' fails " + ProblemText.percent(share) + " of its calls.",
                        cause(model) + " Most frequent error: " + ProblemText.error(most) + ".",
                        "Repair the server that the cause names. The page Live shows why single calls failed."
                                + (most == ErrorCode.DEADLINE_EXCEEDED ? unlimited(model) : ""),
                        ProblemText.page("live", "model", model, "outcome", "failed"))
                .critical(share >= CRITICAL)
                .share(share);
    }

    /** What to set if a server that hangs takes all the time of a call. */
    private String unlimited(String model) {
        Map<String, UpstreamConfig> all = search.gateway().config().upstreams();
        List<String> names = upstreamsOf(model).stream()
                .filter(name -> {
                    UpstreamConfig upstream = all.get(name);
                    return upstream != null && upstream.tryTimeout() == null;
                })
                .toList();
        return names.isEmpty()
                ? ""
                : " If a server hangs: with 'try_timeout' in upstream " + ProblemText.names(names)
                        + " it does not take the whole time of a call.";
    }

    /** What its upstreams do. */
    private String cause(String model) {
        List<String> causes = new ArrayList<>();
        for (String upstream : upstreamsOf(model)) {
            List<ReplicaStatus> servers = upstreams.getOrDefault(upstream, List.of());
            if (ServerProblems.down(servers)) {
                causes.add("No server of upstream '" + upstream + "' is ready.");
            } else {
                failingServers(upstream, servers, causes);
            }
            refusals(upstream, causes);
        }
        return causes.isEmpty() ? "No server stands out." : String.join(" ", causes);
    }

    private void failingServers(String upstream, List<ReplicaStatus> servers, List<String> causes) {
        List<String> failing = new ArrayList<>();
        CallTotals sum = new CallTotals();
        for (ReplicaStatus server : servers) {
            CallTotals attempts = search.server(new SubjectKey(upstream, server.label()));
            if (ServerProblems.failing(attempts)) {
                failing.add(server.label());
                sum.add(attempts);
            }
        }
        if (!failing.isEmpty()) {
            causes.add((failing.size() == 1 ? "Server " + failing.getFirst() : "Servers " + ProblemText.names(failing))
                    + " of upstream '" + upstream + "' " + (failing.size() == 1 ? "" : "each ")
                    + ServerProblems.manner(sum) + ": " + ProblemText.percent(sum.badShare()) + " of "
                    + ProblemText.plural(sum.calls(), "attempt") + "; " + failing.size() + " of "
                    + ProblemText.plural(servers.size(), "server") + ".");
        }
    }

    private void refusals(String upstream, List<String> causes) {
        Map<String, String> reasons = Map.of(
                "adaptive_limit",
                "Every server of upstream '" + upstream + "' has reached its adaptive limit.",
                "breaker",
                "The circuit breaker of upstream '" + upstream + "' is open.",
                "bulkhead",
                "Upstream '" + upstream + "' has reached max_requests.",
                "queue",
                "The queue of upstream '" + upstream + "' refuses calls.");
        reasons.forEach((reason, text) -> {
            if (search.since(new MeterKey("isthmus.upstream.rejected", upstream, reason, "")) > 0) {
                causes.add(text);
            }
        });
    }

    private Set<String> upstreamsOf(String model) {
        GatewayConfig config = search.gateway().config();
        ModelConfig configured = config.models().get(model);
        Set<String> names = new TreeSet<>();
        if (configured != null) {
            configured.allTargets().stream().map(TargetConfig::upstream).forEach(names::add);
        } else if (config.defaultUpstream() != null) {
            names.add(config.defaultUpstream());
        }
        return names;
    }

    private @Nullable GatewayProblem notReady(String model) {
        Set<String> names = upstreamsOf(model);
        boolean reachable = names.stream()
                .flatMap(upstream -> upstreams.getOrDefault(upstream, List.of()).stream())
                .anyMatch(ServerProblems::usable);
        if (!reachable) {
            return null;
        }
        return new GatewayProblem(
                ProblemKind.MODEL_NOT_READY,
                Map.of("model", model),
                "Model '" + model + "' is not ready.",
                "Upstream " + ProblemText.names(List.copyOf(names))
                        + " is reachable, but has the model not ready on enough servers.",
                "Load the model on a server of its upstream, or correct its route.",
                ProblemText.page("models", "search", model));
    }
}
