package dev.isthmus.gateway.problems;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * Derives what is wrong from the state of the gateway and two readings of its meters.
 *
 * @param before the earlier reading: shares are those of the calls since
 * @param time of the later reading
 */
record ProblemSearch(GatewaySnapshot gateway, MeterReading before, MeterReading now, Instant time) {

    /** All problems, the worst first. */
    List<GatewayProblem> problems() {
        List<GatewayProblem> found = new ArrayList<>();
        new StateProblems(this).addTo(found);
        new ServerProblems(this).addTo(found);
        new ModelProblems(this).addTo(found);
        new LimitProblems(this).addTo(found);
        new PeerProblems(gateway.peers()).addTo(found);
        found.sort(GatewayProblem.WORST_FIRST);
        return found;
    }
}
