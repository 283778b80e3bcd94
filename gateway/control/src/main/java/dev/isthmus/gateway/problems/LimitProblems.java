package dev.isthmus.gateway.problems;

import dev.isthmus.gateway.console.CallTotals;
import dev.isthmus.gateway.console.FleetReading.MeterKey;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.metrics.CallMetrics;
import dev.isthmus.gateway.settings.AuthenticationConfig;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.ModelConfig;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Limits that have refused calls, and open circuit breakers. */
record LimitProblems(ProblemSearch search) {
    private static final String PRINCIPAL = "principal";

    void addTo(List<GatewayProblem> found) {
        for (MeterKey limit : search.now().values().keySet()) {
            long refused = search.now().since(limit, search.before());
            ProblemSearch.add(refused == 0 ? null : problem(limit, refused), found);
        }
        Map<String, List<ReplicaStatus>> upstreams = ServerProblems.upstreams(search.gateway());
        for (String upstream : search.openBreakers()) {
            // Of an upstream without servers it is a consequence.
            if (!ServerProblems.down(upstreams.getOrDefault(upstream, List.of()))) {
                found.add(breaker(upstream));
            }
        }
    }

    private GatewayConfig config() {
        return search.gateway().config();
    }

    private @Nullable GatewayProblem problem(MeterKey limit, long refused) {
        String calls = ProblemText.plural(refused, "call") + " in the last minute.";
        return switch (limit.meter()) {
            case "isthmus.rate.limited" -> rate(limit, refused, calls);
            case CallMetrics.FAILED ->
                switch (limit.unit()) {
                    case "caller_limit" -> callers(calls);
                    case "gateway_limit" ->
                        gateway(
                                "The gateway has " + config().limits().maxRequests()
                                        + " concurrent calls and refuses more.",
                                "limits.max_requests",
                                calls);
                    default -> null;
                };
            case "isthmus.memory.refused" ->
                gateway(
                        "Calls hold as much memory as they may, and the gateway refuses more.",
                        "limits.max_buffered",
                        calls);
            case "isthmus.upstream.rejected" ->
                switch (limit.unit()) {
                    case "bulkhead" ->
                        upstream(
                                limit.subject(),
                                "max_requests",
                                "Upstream '%s' has as many concurrent calls as it may, and more are refused.",
                                calls,
                                "Look for a slow server, add one, or raise max_requests.");
                    case "adaptive_limit" ->
                        upstream(
                                limit.subject(),
                                "adaptive_concurrency",
                                "Each server of upstream '%s' has as many calls as its latency allows, and more are"
                                        + " refused.",
                                calls,
                                "Look for a slow server, or add one.");
                    case "queue" ->
                        upstream(
                                limit.subject(),
                                "queue",
                                "Calls wait for upstream '%s', and more than may wait, or for too long, are refused.",
                                calls,
                                "Look for a slow server, add one, or ask callers to send fewer calls at a time.");
                    default -> null;
                };
            default -> null;
        };
    }

    private GatewayProblem rate(MeterKey limit, long refused, String calls) {
        String model = limit.subject();
        boolean perCaller = limit.scope().equals(PRINCIPAL);
        String limited = perCaller ? limited() : null;
        long all = search.model(model).calls();
        String who = limited == null ? "" : refusedCallers();
        return limit(
                        GatewayProblem.subject(
                                "model", model, "limit", limit.unit(), "scope", limit.scope(), "caller", limited),
                        limited == null
                                ? "Model '" + model + "' refuses calls over its rate limit."
                                : "Caller '" + limited + "' is over the rate limit of model '" + model + "'.",
                        "The limit is " + rate(model, limit) + " per second" + scope(limit) + ". It refused " + calls
                                + who,
                        "Ask the caller to slow down, or raise models." + model + ".rates.",
                        ProblemText.page("live", "model", model, "outcome", "failed"))
                .critical(false)
                .share(all == 0 ? null : Math.min(1, (double) refused / all));
    }

    private String rate(String model, MeterKey limit) {
        ModelConfig configured = config().models().get(model);
        boolean bytes = limit.unit().equals("bytes");
        return configured == null
                ? "a number of " + limit.unit()
                : configured.rates().stream()
                        .filter(rate -> scope(rate).equals(limit.scope()))
                        .map(rate ->
                                bytes ? Objects.requireNonNullElse(rate.bytesPerSecond(), 0) : rate.requestsPerSecond())
                        .filter(number -> number > 0)
                        .findFirst()
                        .map(number -> ProblemText.plural(number, bytes ? "byte" : "request"))
                        .orElse("a number of " + limit.unit());
    }

    /** As the meter of the limit has it. */
    private static String scope(ModelConfig.Rate rate) {
        return rate.principal() ? PRINCIPAL : Objects.requireNonNullElse(rate.header(), "none");
    }

    private static String scope(MeterKey limit) {
        return switch (limit.scope()) {
            case PRINCIPAL -> " for each caller";
            case "none" -> " for all calls together";
            default -> " for each value of the header '" + limit.scope() + "'";
        };
    }

    /** The caller with the most refused calls since the earlier reading; null if nobody is known. */
    private @Nullable String limited() {
        return search.now().callers().keySet().stream()
                .map(each -> Map.entry(each, search.caller(each).limited()))
                .filter(each -> each.getValue() > 0)
                .max(Map.Entry.comparingByValue())
                .map(Map.Entry::getKey)
                .orElse(null);
    }

    private String refusedCallers() {
        return " Refused calls of callers: " + TrafficProblems.callers(search, CallTotals::limited) + ".";
    }

    /** Who has sent the calls that fill a limit. */
    private String senders() {
        String callers = TrafficProblems.callers(search, CallTotals::calls);
        String busy = TrafficProblems.isBusy(search) ? " The gateway itself is busy, which makes calls longer." : "";
        return (callers.isEmpty() ? "" : " Most calls come from " + callers + ".") + busy;
    }

    private GatewayProblem callers(String calls) {
        String limited = limited();
        AuthenticationConfig authentication = config().authentication();
        return limit(
                        GatewayProblem.subject("limit", "authentication.max_requests", "caller", limited),
                        "A caller has more concurrent calls than it may.",
                        "The limit is " + (authentication == null ? "removed" : authentication.maxRequests())
                                + " for each caller. It refused " + calls
                                + (limited == null ? "" : refusedCallers()),
                        "Ask the caller to send fewer calls at a time, or raise authentication.max_requests.",
                        ProblemText.page("live", "outcome", "failed"))
                .critical(false);
    }

    private GatewayProblem gateway(String text, String key, String calls) {
        return limit(
                Map.of("limit", key),
                text,
                "The limit " + key + " refused " + calls + senders(),
                "Look for slow servers, whose calls take long, before you raise " + key + " or add a gateway.",
                ProblemText.page("servers"));
    }

    /** @param text with the upstream's name for {@code %s} */
    private GatewayProblem upstream(String upstream, String key, String text, String calls, String nextStep) {
        String limits = key.equals("queue") ? "The limits of" : "The limit";
        return limit(
                Map.of("limit", key, "upstream", upstream),
                text.formatted(upstream),
                limits + " upstreams." + upstream + "." + key + " refused " + calls + senders(),
                nextStep,
                ProblemText.page("servers", "search", upstream));
    }

    private static GatewayProblem limit(
            Map<String, String> subject, String text, String cause, String nextStep, String page) {
        return new GatewayProblem(ProblemKind.LIMIT_REACHED, subject, text, cause, nextStep, page);
    }

    private static GatewayProblem breaker(String upstream) {
        return new GatewayProblem(
                ProblemKind.BREAKER_OPEN,
                Map.of("upstream", upstream),
                "The circuit breaker of upstream '" + upstream + "' is open: its calls are refused.",
                "Too many calls to its servers failed.",
                "Repair the servers. The gateway tries a call from time to time and closes the breaker by itself.",
                ProblemText.page("servers", "search", upstream));
    }
}
