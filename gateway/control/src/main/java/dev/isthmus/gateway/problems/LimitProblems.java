package dev.isthmus.gateway.problems;

import dev.isthmus.gateway.problems.MeterReading.CallerCalls;
import dev.isthmus.gateway.problems.MeterReading.RefusalKey;
import dev.isthmus.gateway.settings.AuthenticationConfig;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.ModelConfig;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Limits that have refused calls, and open circuit breakers. */
final class LimitProblems {
    private static final int CALLERS = 3;
    private static final String PRINCIPAL = "principal";

    private final ProblemSearch search;
    private final GatewayConfig config;

    LimitProblems(ProblemSearch search) {
        this.search = search;
        this.config = search.gateway().config();
    }

    void addTo(List<GatewayProblem> found) {
        for (RefusalKey limit : search.now().refusals().keySet()) {
            long refused = search.now().refused(limit, search.before());
            GatewayProblem problem = refused == 0 ? null : problem(limit, refused);
            if (problem != null) {
                found.add(problem);
            }
        }
        search.now().openBreakers().forEach(upstream -> found.add(breaker(upstream)));
    }

    private @Nullable GatewayProblem problem(RefusalKey limit, long refused) {
        String calls = ProblemText.plural(refused, "call") + " in the last minute.";
        return switch (limit.meter()) {
            case "isthmus.rate.limited" -> rate(limit, refused, calls);
            case "isthmus.principal.requests.shed" -> callers(calls);
            case "isthmus.requests.shed" ->
                gateway(
                        "The gateway has " + config.limits().maxRequests() + " concurrent calls and refuses more.",
                        "limits.max_requests",
                        calls);
            case "isthmus.memory.refused" ->
                gateway(
                        "Calls hold as much memory as they may, and the gateway refuses more.",
                        "limits.max_buffered",
                        calls);
            case "isthmus.upstream.rejected" ->
                switch (limit.unit()) {
                    case "bulkhead" -> upstream(limit.subject(), calls);
                    case "adaptive_limit" -> servers(limit.subject(), calls);
                    case "queue" -> queue(limit.subject(), calls);
                    default -> null;
                };
            default -> null;
        };
    }

    private GatewayProblem rate(RefusalKey limit, long refused, String calls) {
        String model = limit.subject();
        boolean perCaller = limit.scope().equals(PRINCIPAL);
        Map<String, String> subject = new LinkedHashMap<>();
        subject.put("model", model);
        subject.put("limit", limit.unit());
        subject.put("scope", limit.scope());
        List<Map.Entry<String, CallerCalls>> limited = perCaller ? limited() : List.of();
        if (!limited.isEmpty()) {
            subject.put("caller", limited.getFirst().getKey());
        }
        long all = search.now().calls(model, search.before());
        String who = limited.isEmpty() ? "" : " Refused calls of callers: " + text(limited) + ".";
        return limit(
                ProblemSeverity.WARNING,
                subject,
                all == 0 ? null : Math.min(1, (double) refused / all),
                limited.isEmpty()
                        ? "Model '" + model + "' refuses calls over its rate limit."
                        : "Caller '" + limited.getFirst().getKey() + "' is over the rate limit of model '" + model
                                + "'.",
                "The limit is " + rate(model, limit) + " per second" + scope(limit) + ". It refused " + calls + who,
                "Ask the caller to slow down, or raise models." + model + ".rates.",
                ProblemText.page("live", "model", model, "outcome", "failed"));
    }

    private String rate(String model, RefusalKey limit) {
        ModelConfig configured = config.models().get(model);
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

    private static String scope(RefusalKey limit) {
        return switch (limit.scope()) {
            case PRINCIPAL -> " for each caller";
            case "none" -> " for all calls together";
            default -> " for each value of the header '" + limit.scope() + "'";
        };
    }

    /** The callers with the most refused calls since the earlier reading. */
    private List<Map.Entry<String, CallerCalls>> limited() {
        Map<String, CallerCalls> since = new TreeMap<>();
        search.now().callers().forEach((caller, calls) -> {
            CallerCalls recent = calls.since(search.before().callers().get(caller));
            if (recent.limited() > 0) {
                since.put(caller, recent);
            }
        });
        return since.entrySet().stream()
                .sorted(Comparator.comparing((Map.Entry<String, CallerCalls> each) ->
                                each.getValue().limited())
                        .reversed())
                .limit(CALLERS)
                .toList();
    }

    private static String text(List<Map.Entry<String, CallerCalls>> callers) {
        return callers.stream()
                .map(each -> "'" + each.getKey() + "' (" + each.getValue().limited() + " of "
                        + ProblemText.plural(each.getValue().all(), "call") + ")")
                .collect(Collectors.joining(", "));
    }

    private GatewayProblem callers(String calls) {
        List<Map.Entry<String, CallerCalls>> limited = limited();
        AuthenticationConfig authentication = config.authentication();
        Map<String, String> subject = new LinkedHashMap<>();
        subject.put("limit", "authentication.max_requests");
        if (!limited.isEmpty()) {
            subject.put("caller", limited.getFirst().getKey());
        }
        return limit(
                ProblemSeverity.WARNING,
                subject,
                null,
                "A caller has more concurrent calls than it may.",
                "The limit is " + (authentication == null ? "removed" : authentication.maxRequests())
                        + " for each caller. It refused " + calls
                        + (limited.isEmpty() ? "" : " Refused calls of callers: " + text(limited) + "."),
                "Ask the caller to send fewer calls at a time, or raise authentication.max_requests.",
                ProblemText.page("live", "outcome", "failed"));
    }

    private static GatewayProblem gateway(String text, String key, String calls) {
        return limit(
                ProblemSeverity.CRITICAL,
                Map.of("limit", key),
                null,
                text,
                "The limit " + key + " refused " + calls,
                "Look for slow servers, whose calls take long, before you raise " + key + " or add a gateway.",
                ProblemText.page("servers"));
    }

    private static GatewayProblem upstream(String upstream, String calls) {
        return limit(
                ProblemSeverity.CRITICAL,
                Map.of("limit", "max_requests", "upstream", upstream),
                null,
                "Upstream '" + upstream + "' has as many concurrent calls as it may, and more are refused.",
                "The limit upstreams." + upstream + ".max_requests refused " + calls,
                "Look for a slow server, add one, or raise max_requests.",
                ProblemText.page("servers", "search", upstream));
    }

    private static GatewayProblem servers(String upstream, String calls) {
        return limit(
                ProblemSeverity.CRITICAL,
                Map.of("limit", "adaptive_concurrency", "upstream", upstream),
                null,
                "Each server of upstream '" + upstream
                        + "' has as many calls as its latency allows, and more are refused.",
                "The limit upstreams." + upstream + ".adaptive_concurrency refused " + calls,
                "Look for a slow server, or add one.",
                ProblemText.page("servers", "search", upstream));
    }

    private static GatewayProblem queue(String upstream, String calls) {
        return limit(
                ProblemSeverity.CRITICAL,
                Map.of("limit", "queue", "upstream", upstream),
                null,
                "Calls wait for upstream '" + upstream + "', and more than may wait, or for too long, are refused.",
                "The limits of upstreams." + upstream + ".queue refused " + calls,
                "Look for a slow server, add one, or ask callers to send fewer calls at a time.",
                ProblemText.page("servers", "search", upstream));
    }

    private static GatewayProblem limit(
            ProblemSeverity severity,
            Map<String, String> subject,
            @Nullable Double share,
            String text,
            String cause,
            String nextStep,
            String page) {
        return new GatewayProblem(
                ProblemKind.LIMIT_REACHED, severity, subject, null, share, text, cause, nextStep, "isthmus top", page);
    }

    private static GatewayProblem breaker(String upstream) {
        return new GatewayProblem(
                ProblemKind.BREAKER_OPEN,
                ProblemSeverity.CRITICAL,
                Map.of("upstream", upstream),
                null,
                null,
                "The circuit breaker of upstream '" + upstream + "' is open: its calls are refused.",
                "Too many calls to its servers failed.",
                "Repair the servers. The gateway tries a call from time to time and closes the breaker by itself.",
                "isthmus servers",
                ProblemText.page("servers", "search", upstream));
    }
}
