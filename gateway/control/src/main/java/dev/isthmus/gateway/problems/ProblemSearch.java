package dev.isthmus.gateway.problems;

import dev.isthmus.gateway.problems.MeterReading.ServerKey;
import dev.isthmus.oip.ModelRef;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Derives what is wrong from the state of the gateway and two readings of its meters.
 *
 * @param placed which models were ready on which servers at some time
 * @param before the earlier reading: shares are those of the calls since
 * @param time of the later reading
 */
record ProblemSearch(
        GatewaySnapshot gateway,
        Map<ServerKey, Set<ModelRef>> placed,
        MeterReading before,
        MeterReading now,
        Instant time) {

    /** All problems, the worst first. */
    List<GatewayProblem> problems() {
        List<GatewayProblem> found = new ArrayList<>();
        new StateProblems(this).addTo(found);
        new ServerProblems(this).addTo(found);
        new ModelProblems(this).addTo(found);
        new LimitProblems(this).addTo(found);
        new TrafficProblems(this).addTo(found);
        new PeerProblems(gateway.peers()).addTo(found);
        found.sort(GatewayProblem.WORST_FIRST);
        return found;
    }
}
