package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.settings.UpstreamConfig.BalancePolicy;
import java.util.List;
import java.util.random.RandomGenerator;

/** A policy of choosing one of several servers. Used by all event loops. */
@FunctionalInterface
interface Balancer {

    /**
     * The server that takes the call.
     *
     * @param candidates one or more, all of which may take it
     */
    Replica choose(List<Replica> candidates, Call call, long now);

    /** The policy, by which a call that has an affinity goes by consistent hash all the same. */
    static Balancer of(BalancePolicy policy, RandomGenerator random) {
        Balancer others = ofStrangers(policy, random);
        Balancer byHash = new ConsistentHash();
        return (candidates, call, now) ->
                (call.affinity() == Call.NO_AFFINITY ? others : byHash).choose(candidates, call, now);
    }

    /** For calls that belong nowhere. */
    private static Balancer ofStrangers(BalancePolicy policy, RandomGenerator random) {
        return switch (policy) {
            case ROUND_ROBIN -> new RoundRobin();
            case LEAST_REQUEST, CONSISTENT_HASH -> TwoChoices.leastRequest(random);
            case PEAK_EWMA -> TwoChoices.peakEwma(random);
            case QUEUE_AWARE -> TwoChoices.queueAware(random);
        };
    }
}
