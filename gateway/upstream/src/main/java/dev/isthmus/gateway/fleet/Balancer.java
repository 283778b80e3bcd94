package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.settings.UpstreamConfig.BalancePolicy;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.random.RandomGenerator;

/** A load balancing policy. Thread-safe. */
@FunctionalInterface
interface Balancer {

    /**
     * Chooses the server for a call.
     *
     * @param candidates one or more eligible servers
     */
    Replica choose(List<Replica> candidates, Call call, long now);

    /** The balancer for the policy. Calls with an affinity are always balanced by consistent hash. */
    static Balancer of(BalancePolicy policy, RandomGenerator random) {
        Balancer withoutAffinity = withoutAffinity(policy, random);
        Balancer byHash = new ConsistentHash();
        return (candidates, call, now) ->
                (call.affinity() == Call.NO_AFFINITY ? withoutAffinity : byHash).choose(candidates, call, now);
    }

    /** For calls without an affinity. */
    private static Balancer withoutAffinity(BalancePolicy policy, RandomGenerator random) {
        return switch (policy) {
            case ROUND_ROBIN -> roundRobin();
            case LEAST_REQUEST, CONSISTENT_HASH -> new TwoChoices(random, TwoChoices::byActiveRequests);
            case PEAK_EWMA -> new TwoChoices(random, TwoChoices::byCost);
            case QUEUE_AWARE -> new TwoChoices(random, TwoChoices::byPending);
        };
    }

    /** Chooses the candidates in turn. */
    private static Balancer roundRobin() {
        AtomicInteger next = new AtomicInteger();
        return (candidates, call, now) -> candidates.get(Math.floorMod(next.getAndIncrement(), candidates.size()));
    }
}
