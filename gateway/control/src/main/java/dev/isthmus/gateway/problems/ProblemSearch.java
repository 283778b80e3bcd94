package dev.isthmus.gateway.problems;

import dev.isthmus.gateway.console.CallTotals;
import dev.isthmus.gateway.console.FleetReading;
import dev.isthmus.gateway.console.FleetReading.MeterKey;
import dev.isthmus.gateway.console.SubjectKey;
import dev.isthmus.gateway.problems.ProblemReport.GatewaySnapshot;
import dev.isthmus.oip.ModelRef;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Derives what is wrong from the state of the gateway and two readings of its meters.
 *
 * @param placed which models were ready on which servers at some time
 * @param before the earlier reading: shares are those of the calls since
 * @param time of the later reading
 */
record ProblemSearch(
        GatewaySnapshot gateway,
        Map<SubjectKey, Set<ModelRef>> placed,
        FleetReading before,
        FleetReading now,
        Instant time) {
    private static final int BREAKER_OPEN = 2;

    /** All problems, the worst first. */
    List<GatewayProblem> problems() {
        List<GatewayProblem> found = new ArrayList<>();
        new StateProblems(this).addTo(found);
        new ServerProblems(this).addTo(found);
        new ModelProblems(this).addTo(found);
        new LimitProblems(this).addTo(found);
        new TrafficProblems(this).addTo(found);
        found.sort(GatewayProblem.WORST_FIRST);
        return found;
    }

    /** Adds a problem if there is one. */
    static void add(@Nullable GatewayProblem problem, List<GatewayProblem> found) {
        if (problem != null) {
            found.add(problem);
        }
    }

    /** The calls of a model since the earlier reading. */
    CallTotals model(String name) {
        return now.model(name, before);
    }

    /** The attempts at a server since the earlier reading. */
    CallTotals server(SubjectKey key) {
        return now.server(key, before);
    }

    /** The calls of a caller since the earlier reading. */
    CallTotals caller(String name) {
        return now.caller(name, before);
    }

    /** The number of attempts at the servers of an upstream since the earlier reading. */
    long attempts(String upstream) {
        return now.servers().keySet().stream()
                .filter(key -> key.of().equals(upstream))
                .mapToLong(key -> server(key).calls())
                .sum();
    }

    long since(MeterKey counter) {
        return now.since(counter, before);
    }

    /** The value of a gauge; NaN if there is none. */
    double value(MeterKey gauge) {
        return now.values().getOrDefault(gauge, Double.NaN);
    }

    /** The upstreams whose circuit breaker is open. */
    List<String> openBreakers() {
        return now.keys(FleetReading.BREAKER)
                .filter(key -> value(key) == BREAKER_OPEN)
                .map(MeterKey::subject)
                .toList();
    }
}
