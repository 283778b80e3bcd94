package dev.isthmus.gateway.routing;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Where {@link Route#pick} sends a request, and why.
 *
 * @param rules the result of each rule, in configuration order
 * @param targets by name
 * @param sequence whether the request belongs to a sequence
 * @param key the hashed key: the sequence id, or else the value of the sticky key; null if there is neither
 * @param hashed the name of the target selected by the hash if no rule selects one; null if nothing is hashed
 * @param shadows the shadow targets, in configuration order
 * @param fallback the fallback for a failed target; null if there is none
 */
public record RouteDecision(
        List<RuleResult> rules,
        Map<String, TargetShare> targets,
        boolean sequence,
        @Nullable String key,
        @Nullable String hashed,
        List<Target> shadows,
        @Nullable Target fallback) {

    public enum RuleResult {
        NO_MATCH,
        /** It matches, but its target serves another version than the requested one. */
        OTHER_VERSION,
        /** It selects the target. */
        CHOSEN,
        /** It matches, but an earlier rule selects the target. */
        LATER
    }

    /**
     * A target's share of requests like this one.
     *
     * @param share from 0 to 1
     * @param serves whether it may serve the requested version
     */
    public record TargetShare(Target target, double share, boolean serves) {}

    public RouteDecision {
        rules = List.copyOf(rules);
        targets = Map.copyOf(targets);
        shadows = List.copyOf(shadows);
    }

    public boolean ruled() {
        return rules.contains(RuleResult.CHOSEN);
    }
}
