package dev.isthmus.gateway.problems;

import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.problems.MeterReading.ServerAttempts;
import dev.isthmus.gateway.problems.MeterReading.ServerKey;
import dev.isthmus.gateway.settings.ModelConfig;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Servers that are not ready, and those that are ready and fail calls. */
final class ServerProblems {
    /** The share of failed attempts from which on a server is a problem. */
    private static final double NOTICED = 0.01;
    /** The share from which on it is critical; the alert IsthmusServerErrors has the same. */
    private static final double CRITICAL = 0.2;
    /** Fewer failed attempts may be chance. */
    private static final int FEWEST = 2;

    private static final int REASONS = 3;

    private final ProblemSearch search;
    private final Map<String, List<ReplicaStatus>> upstreams;

    ServerProblems(ProblemSearch search) {
        this.search = search;
        this.upstreams = upstreams(search.gateway());
    }

    /** The servers by upstream, less those that wait for their first health check: nothing is known of them yet. */
    static Map<String, List<ReplicaStatus>> upstreams(GatewaySnapshot gateway) {
        return gateway.servers().stream()
                .filter(ReplicaStatus::checked)
                .collect(Collectors.groupingBy(ReplicaStatus::upstream, LinkedHashMap::new, Collectors.toList()));
    }

    static boolean usable(ReplicaStatus server) {
        return server.ready() && !server.ejected();
    }

    /** Whether it has failed too many attempts since the earlier reading. */
    static boolean failing(ServerAttempts attempts) {
        return attempts.bad() >= FEWEST && attempts.share() >= NOTICED;
    }

    /** How a server fails, as a part of a sentence. */
    static String manner(ServerAttempts attempts) {
        if (attempts.failed() == 0) {
            return "answers with 5xx";
        }
        return attempts.errors() == 0
                ? "gives no valid response (not reachable, too slow, or the connection is lost)"
                : "answers with 5xx or gives no valid response";
    }

    void addTo(List<GatewayProblem> found) {
        upstreams.forEach((upstream, servers) -> {
            if (servers.stream().noneMatch(ServerProblems::usable)) {
                found.add(down(upstream, servers));
                return;
            }
            for (ReplicaStatus server : servers) {
                GatewayProblem problem = usable(server) ? failing(server, servers) : notReady(server, servers);
                if (problem != null) {
                    found.add(problem);
                }
            }
        });
    }

    private ServerAttempts attempts(ReplicaStatus server) {
        return search.now().attempts(new ServerKey(server.upstream(), server.label()), search.before());
    }

    private GatewayProblem down(String upstream, List<ReplicaStatus> servers) {
        Map<String, String> subject = new LinkedHashMap<>();
        subject.put("upstream", upstream);
        if (servers.size() == 1) {
            subject.put("server", servers.getFirst().label());
        }
        String cause = servers.stream()
                .limit(REASONS)
                .map(server -> server.label() + ": " + reason(server))
                .collect(Collectors.joining("; "));
        String others = servers.size() > REASONS ? "; " + (servers.size() - REASONS) + " more" : "";
        return new GatewayProblem(
                ProblemKind.UPSTREAM_DOWN,
                ProblemSeverity.CRITICAL,
                subject,
                null,
                null,
                servers.size() == 1
                        ? "Server " + servers.getFirst().label() + ", the only one of upstream '" + upstream
                                + "', is not ready."
                        : "None of the " + servers.size() + " servers of upstream '" + upstream + "' is ready.",
                cause + others + "." + models(upstream),
                "Start or repair a server of this upstream. The gateway uses it as soon as a health check succeeds.",
                "isthmus servers",
                ProblemText.page("servers", "search", upstream));
    }

    private static String reason(ReplicaStatus server) {
        if (!server.ready()) {
            return server.reason();
        }
        return "is left out for a while (ejected) because calls to it failed";
    }

    /** Which configured models it takes down. */
    private String models(String upstream) {
        List<String> models = search.gateway().config().models().entrySet().stream()
                .filter(model -> only(model.getValue(), upstream))
                .map(Map.Entry::getKey)
                .sorted()
                .toList();
        return models.isEmpty() ? "" : " Models that only it serves: " + ProblemText.names(models) + ".";
    }

    private static boolean only(ModelConfig model, String upstream) {
        return model.allTargets().stream().allMatch(target -> target.upstream().equals(upstream));
    }

    private GatewayProblem notReady(ReplicaStatus server, List<ReplicaStatus> servers) {
        long usable = servers.stream().filter(ServerProblems::usable).count();
        return problem(
                ProblemKind.SERVER_NOT_READY,
                ProblemSeverity.WARNING,
                server,
                null,
                "Server " + server.label() + " of upstream '" + server.upstream() + "' is "
                        + (server.ready() ? "ejected." : "not ready."),
                sentence(reason(server)) + " Its calls go to " + ProblemText.plural(usable, "other server") + ".",
                server.ready()
                        ? "Read the log of this server. It gets calls again after its ejection."
                        : "Start or repair this server. The gateway uses it as soon as a health check succeeds.");
    }

    private @Nullable GatewayProblem failing(ReplicaStatus server, List<ReplicaStatus> servers) {
        ServerAttempts attempts = attempts(server);
        if (!failing(attempts)) {
            return null;
        }
        ServerAttempts others = servers.stream()
                .filter(other -> !other.label().equals(server.label()))
                .map(this::attempts)
                .reduce(
                        ServerAttempts.NONE,
                        (one, two) -> new ServerAttempts(
                                one.all() + two.all(), one.failed() + two.failed(), one.errors() + two.errors()));
        String comparison = others.all() == 0
                ? ""
                : " The other " + (servers.size() == 2 ? "server fails " : "servers fail ")
                        + ProblemText.percent(others.share()) + ".";
        return problem(
                ProblemKind.SERVER_FAILING,
                attempts.share() >= CRITICAL ? ProblemSeverity.CRITICAL : ProblemSeverity.WARNING,
                server,
                attempts.share(),
                "Server " + server.label() + " of upstream '" + server.upstream() + "' fails "
                        + ProblemText.percent(attempts.share()) + " of its attempts.",
                "It " + manner(attempts) + "." + comparison,
                "Read the log of this server and the last errors on the page Servers, or remove it from the upstream.");
    }

    private static GatewayProblem problem(
            ProblemKind kind,
            ProblemSeverity severity,
            ReplicaStatus server,
            @Nullable Double share,
            String text,
            String cause,
            String nextStep) {
        Map<String, String> subject = new LinkedHashMap<>();
        subject.put("upstream", server.upstream());
        subject.put("server", server.label());
        return new GatewayProblem(
                kind,
                severity,
                subject,
                null,
                share,
                text,
                cause,
                nextStep,
                "isthmus servers",
                ProblemText.page("servers", "search", server.upstream() + " " + server.label()));
    }

    private static String sentence(String text) {
        return text.isEmpty() ? "" : Character.toUpperCase(text.charAt(0)) + text.substring(1) + ".";
    }
}
