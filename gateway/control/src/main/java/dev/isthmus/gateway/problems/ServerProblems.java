package dev.isthmus.gateway.problems;

import dev.isthmus.gateway.console.CallTotals;
import dev.isthmus.gateway.console.SubjectKey;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.problems.ProblemReport.GatewaySnapshot;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.oip.ModelRef;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Servers that are not ready, and those that are ready and fail calls. */
record ServerProblems(ProblemSearch search, Map<String, List<ReplicaStatus>> upstreams) {
    /** The share of failed attempts from which on a server is a problem. */
    private static final double NOTICED = 0.01;
    /** The share from which on it is critical; the alert IsthmusServerErrors has the same. */
    private static final double CRITICAL = 0.2;
    /** Fewer failed attempts may be chance. */
    private static final int FEWEST = 2;

    /** How many times as long as the others a slow server takes, at least. */
    private static final double SLOWER = 5;
    /** Smaller differences are no problem, whatever their ratio. */
    private static final double LEAST_SECONDS = 0.02;

    private static final int FEWEST_OF_OTHERS = 5;

    ServerProblems(ProblemSearch search) {
        this(search, upstreams(search.gateway()));
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

    /** Whether none of the servers of an upstream, which has some, gets calls. */
    static boolean down(List<ReplicaStatus> servers) {
        return !servers.isEmpty() && servers.stream().noneMatch(ServerProblems::usable);
    }

    /** Whether it has failed too many attempts since the earlier reading. */
    static boolean failing(CallTotals attempts) {
        return attempts.bad() >= FEWEST && attempts.badShare() >= NOTICED;
    }

    /** How a server fails, as a part of a sentence. */
    static String manner(CallTotals attempts) {
        if (attempts.failed() == 0) {
            return "answers with 5xx";
        }
        return attempts.serverErrors() == 0
                ? "gives no valid response (not reachable, too slow, or the connection is lost)"
                : "answers with 5xx or gives no valid response";
    }

    void addTo(List<GatewayProblem> found) {
        upstreams.forEach((upstream, servers) -> {
            if (down(servers)) {
                found.add(down(upstream, servers));
                return;
            }
            // Servers of an upstream share what is known of them.
            servers.stream()
                    .filter(ReplicaStatus::ready)
                    .findFirst()
                    .ifPresent(server -> ProblemSearch.add(dialect(server), found));
            for (ReplicaStatus server : servers) {
                GatewayProblem problem = server.drained()
                        ? drained(server)
                        : usable(server) ? failing(server, servers) : notReady(server, servers);
                ProblemSearch.add(problem == null && usable(server) ? slow(server, servers) : problem, found);
            }
            addGone(servers, found);
        });
    }

    private CallTotals attempts(ReplicaStatus server) {
        return search.server(SubjectKey.of(server));
    }

    private GatewayProblem down(String upstream, List<ReplicaStatus> servers) {
        List<String> reasons = servers.stream()
                .map(server -> server.label() + ": " + reason(server))
                .toList();
        return new GatewayProblem(
                ProblemKind.UPSTREAM_DOWN,
                GatewayProblem.subject(
                        "upstream",
                        upstream,
                        "server",
                        servers.size() == 1 ? servers.getFirst().label() : null),
                servers.size() == 1
                        ? "Server " + servers.getFirst().label() + ", the only one of upstream '" + upstream
                                + "', is not ready."
                        : "None of the " + servers.size() + " servers of upstream '" + upstream + "' is ready.",
                ProblemText.first(reasons) + "." + models(upstream),
                servers.stream().anyMatch(ReplicaStatus::drained)
                        ? "Put a server of this upstream into service: isthmus servers enable ADDRESS."
                        : "Start or repair a server of this upstream. The gateway uses it as soon as a health check"
                                + " succeeds.",
                ProblemText.page("servers", "search", upstream));
    }

    /** Why it gets no calls, as a part of a sentence about this server. */
    private static String reason(ReplicaStatus server) {
        if (!server.ready()) {
            String upstream = "upstream '" + server.upstream() + "' ";
            return server.reason().startsWith(upstream)
                    ? "it " + server.reason().substring(upstream.length())
                    : server.reason();
        }
        return "it is left out for a while (ejected) because calls to it failed";
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
                server,
                "Server " + server.label() + " of upstream '" + server.upstream() + "' is "
                        + (server.ready() ? "ejected." : "not ready."),
                sentence(reason(server)) + " Its calls go to " + ProblemText.plural(usable, "other server") + ".",
                server.ready()
                        ? "Read the log of this server. It gets calls again after its ejection."
                        : "Start or repair this server. The gateway uses it as soon as a health check succeeds.");
    }

    private static GatewayProblem drained(ReplicaStatus server) {
        return problem(
                ProblemKind.SERVER_DRAINED,
                server,
                "Server " + server.label() + " of upstream '" + server.upstream() + "' is out of service.",
                sentence(server.reason()) + " It gets no new calls; those of sequences and open streams end there.",
                "isthmus servers enable " + server.label() + " puts it into service again.");
    }

    private static @Nullable GatewayProblem dialect(ReplicaStatus server) {
        ServerCapabilities capabilities = server.server().capabilities();
        String key = "upstreams." + server.upstream() + ".dialect";
        if (capabilities != null && capabilities.report().contradicted()) {
            return problem(
                    ProblemKind.DIALECT_CONTRADICTED,
                    server,
                    "Upstream '" + server.upstream() + "': "
                            + capabilities.report().sentence() + ".",
                    "The configuration stays in force. If the servers are right, JSON, streams, NaN, versions and the list"
                            + " of models may be wrong.",
                    "Remove " + key + ", or set it to what the servers are.");
        }
        return capabilities == null || !capabilities.isAssumed()
                ? null
                : problem(
                        ProblemKind.DIALECT_UNKNOWN,
                        server,
                        "The servers of upstream '" + server.upstream()
                                + "' are taken for generic ones: what they are is not recognized.",
                        "Their name, their extensions and their answer about an unknown model say nothing. If they are of a"
                                + " known kind, streams, NaN, versions and the list of models may be wrong.",
                        "Set " + key + " to triton, mlserver, kserve or ovms, or to generic for any other server.");
    }

    private @Nullable GatewayProblem failing(ReplicaStatus server, List<ReplicaStatus> servers) {
        CallTotals attempts = attempts(server);
        if (!failing(attempts)) {
            return null;
        }
        CallTotals others = others(server, servers);
        String comparison = others.calls() == 0
                ? ""
                : " The other " + (servers.size() == 2 ? "server fails " : "servers fail ")
                        + ProblemText.percent(others.badShare()) + ".";
        return problem(
                        ProblemKind.SERVER_FAILING,
                        server,
                        "Server " + server.label() + " of upstream '" + server.upstream() + "' fails "
                                + ProblemText.percent(attempts.badShare()) + " of its attempts.",
                        "It " + manner(attempts) + "." + comparison,
                        "Read the log of this server and the last errors on the page Servers, or remove it from the upstream.")
                .critical(attempts.badShare() >= CRITICAL)
                .share(attempts.badShare());
    }

    private CallTotals others(ReplicaStatus server, List<ReplicaStatus> servers) {
        CallTotals others = new CallTotals();
        servers.stream()
                .filter(other -> !other.label().equals(server.label()))
                .map(this::attempts)
                .forEach(others::add);
        return others;
    }

    /** Slower than its peers; a balancer that avoids it gives it few calls. */
    private @Nullable GatewayProblem slow(ReplicaStatus server, List<ReplicaStatus> servers) {
        CallTotals own = attempts(server);
        CallTotals others = others(server, servers);
        if (own.answered() < FEWEST
                || others.answered() < FEWEST_OF_OTHERS
                || own.mean() < SLOWER * others.mean()
                || own.mean() - others.mean() < LEAST_SECONDS) {
            return null;
        }
        return problem(
                ProblemKind.SERVER_SLOW,
                server,
                "Server " + server.label() + " of upstream '" + server.upstream() + "' takes "
                        + Math.round(own.mean() / others.mean()) + " times as long as the others.",
                "It responds after " + ProblemText.millis(own.mean()) + " in the mean of "
                        + ProblemText.plural(own.answered(), "call") + ", the others after "
                        + ProblemText.millis(others.mean()) + ".",
                "Look for what it does besides, its accelerator, and its log; remove it from the upstream until then."
                        + " With balance.policy least_request or peak_ewma it gets fewer calls.");
    }

    /** Models that a server had, and another one still has. */
    private void addGone(List<ReplicaStatus> servers, List<GatewayProblem> found) {
        for (ReplicaStatus server : servers) {
            Set<ModelRef> before = search.placed().getOrDefault(SubjectKey.of(server), Set.of());
            server.models().forEach((model, ready) -> {
                if (!ready && usable(server) && before.contains(model)) {
                    long others = servers.stream()
                            .filter(other -> usable(other) && other.models().getOrDefault(model, false))
                            .count();
                    if (others > 0) {
                        found.add(gone(server, model, others));
                    }
                }
            });
        }
    }

    private static GatewayProblem gone(ReplicaStatus server, ModelRef model, long others) {
        String version = model.version().isEmpty() ? "" : ", version " + model.version() + ",";
        return new GatewayProblem(
                ProblemKind.MODEL_GONE,
                GatewayProblem.subject(
                        "model",
                        model.name(),
                        "version",
                        model.version(),
                        "upstream",
                        server.upstream(),
                        "server",
                        server.label()),
                "Model '" + model.name() + "'" + version + " is not ready any more on server " + server.label()
                        + " of upstream '" + server.upstream() + "'.",
                "The server is ready and had the model before. Calls go to "
                        + ProblemText.plural(others, "other server") + " that " + (others == 1 ? "has" : "have")
                        + " it.",
                "Find out from the log of this server who has unloaded it or why it failed, and load it again.",
                ProblemText.page("models", "search", model.name()));
    }

    private static GatewayProblem problem(
            ProblemKind kind, ReplicaStatus server, String text, String cause, String nextStep) {
        return new GatewayProblem(
                kind,
                GatewayProblem.subject("upstream", server.upstream(), "server", server.label()),
                text,
                cause,
                nextStep,
                ProblemText.page("servers", "search", server.upstream() + " " + server.label()));
    }

    private static String sentence(String text) {
        return text.isEmpty() ? "" : Character.toUpperCase(text.charAt(0)) + text.substring(1) + ".";
    }
}
