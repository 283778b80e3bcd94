package dev.isthmus.gateway.problems;

import dev.isthmus.gateway.console.CallTotals;
import dev.isthmus.gateway.console.FleetReading;
import dev.isthmus.gateway.console.FleetReading.MeterKey;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What is wrong with the calls rather than with servers: what clients send, retries, caches, the gateway's own load. */
record TrafficProblems(ProblemSearch search) {
    /** Fewer calls may be chance. */
    private static final int FEWEST = 20;
    /** The share of calls with mistakes of clients from which on they are a problem. */
    private static final double MISTAKEN = 0.1;
    /** The share of attempts that are retries. */
    private static final double RETRIED = 0.2;
    /** The share of hits that a cache must have had, and what part of it is left. */
    private static final double CACHED = 0.2;

    private static final double LEFT = 0.5;
    /** How late event loops run in the mean. */
    private static final double LATE_SECONDS = 0.02;

    private static final double TOO_LATE_SECONDS = 0.1;

    private static final int CALLERS = 3;
    /** What calls for models without a route are counted for. */
    private static final Set<String> UNKNOWN = Set.of("other", "none");

    void addTo(List<GatewayProblem> found) {
        search.now().models().keySet().forEach(model -> ProblemSearch.add(mistakes(model), found));
        subjects(FleetReading.RETRIES).forEach(upstream -> ProblemSearch.add(retries(upstream), found));
        subjects(FleetReading.CACHE).forEach(model -> ProblemSearch.add(misses(model), found));
        ProblemSearch.add(busy(), found);
    }

    private Set<String> subjects(String meter) {
        return search.now().keys(meter).map(MeterKey::subject).collect(Collectors.toCollection(TreeSet::new));
    }

    private @Nullable GatewayProblem mistakes(String model) {
        long mistakes = search.model(model).mistakes();
        double share = share(mistakes, search.model(model).calls());
        if (mistakes < FEWEST || share < MISTAKEN) {
            return null;
        }
        String callers = callers(search, CallTotals::failed);
        return new GatewayProblem(
                        ProblemKind.CLIENT_MISTAKES,
                        Map.of("model", model),
                        ProblemText.percent(share) + " of the calls "
                                + (UNKNOWN.contains(model) ? "for unknown models" : "of model '" + model + "'")
                                + " are refused because of what clients send.",
                        "These calls do not fit the model, or ask for what does not exist or is not allowed (4xx)."
                                + (callers.isEmpty() ? "" : " Failed calls of callers: " + callers + "."),
                        "Tell the caller. The page Live shows its address and why each call is refused.",
                        ProblemText.page("live", "model", model, "outcome", "failed"))
                .share(share);
    }

    /**
     * The callers with the most calls of a kind since the earlier reading, for a sentence; empty if nobody is known.
     */
    static String callers(ProblemSearch search, ToLongFunction<CallTotals> kind) {
        return search.now().callers().keySet().stream()
                .map(each -> Map.entry(each, search.caller(each)))
                .filter(each -> kind.applyAsLong(each.getValue()) > 0)
                .sorted(Comparator.comparingLong(
                        (Map.Entry<String, CallTotals> each) -> -kind.applyAsLong(each.getValue())))
                .limit(CALLERS)
                .map(each ->
                        "'" + each.getKey() + "' (" + number(kind.applyAsLong(each.getValue()), each.getValue()) + ")")
                .collect(Collectors.joining(", "));
    }

    private static String number(long calls, CallTotals of) {
        return (calls == of.calls() ? "" : calls + " of ") + ProblemText.plural(of.calls(), "call");
    }

    private @Nullable GatewayProblem retries(String upstream) {
        long retries = count(search.now(), search.before(), FleetReading.RETRIES, upstream, Set.of());
        double share = share(retries, search.attempts(upstream));
        if (retries < FEWEST || share < RETRIED) {
            return null;
        }
        return new GatewayProblem(
                        ProblemKind.RETRIES,
                        Map.of("upstream", upstream),
                        ProblemText.percent(share) + " of the attempts at servers of upstream '" + upstream
                                + "' are retries.",
                        ProblemText.plural(retries, "attempt") + " in the last minute were retries: "
                                + reasons(upstream) + ". They add to the load of its servers.",
                        "Look for the server that fails first. Less of retry.budget in this upstream limits the load.",
                        ProblemText.page("servers", "search", upstream))
                .share(share);
    }

    private String reasons(String upstream) {
        return search.now()
                .keys(FleetReading.RETRIES)
                .filter(key -> key.subject().equals(upstream) && search.since(key) > 0)
                .map(key -> key.unit() + " " + search.since(key))
                .sorted()
                .collect(Collectors.joining(", "));
    }

    private @Nullable GatewayProblem misses(String model) {
        Set<String> hits = Set.of("hit", "collapsed");
        Set<String> lookups = Set.of("hit", "collapsed", "miss");
        long all = count(search.now(), search.before(), FleetReading.CACHE, model, lookups);
        long earlier = count(search.before(), FleetReading.EMPTY, FleetReading.CACHE, model, lookups);
        double share = share(count(search.now(), search.before(), FleetReading.CACHE, model, hits), all);
        double usual = share(count(search.before(), FleetReading.EMPTY, FleetReading.CACHE, model, hits), earlier);
        if (all < FEWEST || earlier < FEWEST || usual < CACHED || share > LEFT * usual) {
            return null;
        }
        return new GatewayProblem(
                ProblemKind.CACHE_MISSES,
                Map.of("model", model),
                "The cache of model '" + model + "' answers " + ProblemText.percent(share)
                        + " of its requests; before it answered " + ProblemText.percent(usual) + ".",
                "Requests differ from those before, or responses are displaced or purged: a client that adds a value of"
                        + " its own to each request has no hits.",
                "Compare the requests of callers. isthmus_cache_requests_total and the page Cache of the admin address"
                        + " show what became of them.",
                ProblemText.page("models", "search", model));
    }

    /** @param units what is counted; empty for all */
    private static long count(FleetReading now, FleetReading before, String meter, String subject, Set<String> units) {
        return now.keys(meter)
                .filter(key -> key.subject().equals(subject))
                .filter(key -> units.isEmpty() || units.contains(key.unit()))
                .mapToLong(key -> now.since(key, before))
                .sum();
    }

    /** Whether event loops run so late that calls wait for the gateway and not for servers. */
    static boolean isBusy(ProblemSearch search) {
        // A warm-up takes all processors.
        return search.gateway().obstacle() == null && late(search) >= LATE_SECONDS;
    }

    private static double late(ProblemSearch search) {
        long tasks = search.since(FleetReading.TASKS);
        long millis = search.since(FleetReading.TASK_MILLIS);
        return tasks < FEWEST ? 0 : millis / 1000.0 / tasks;
    }

    private @Nullable GatewayProblem busy() {
        return isBusy(search)
                ? new GatewayProblem(
                                ProblemKind.GATEWAY_BUSY,
                                Map.of(),
                                "The gateway is busy: its event loops run " + ProblemText.millis(late(search))
                                        + " late in the mean.",
                                "Its processors are fully used, by itself or by others, or a limit of its container stops it."
                                        + " All calls wait for that, and servers look slower than they are.",
                                "Give it more processors (or a higher CPU limit), or add a gateway.",
                                ProblemText.page("overview"))
                        .critical(late(search) >= TOO_LATE_SECONDS)
                : null;
    }

    private static double share(long part, long all) {
        return all <= 0 ? 0 : Math.min(1, (double) part / all);
    }
}
