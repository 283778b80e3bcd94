package dev.isthmus.gateway.routing;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Where {@link Route#pick} sends calls like one, and why.
 *
 * @param rules what came of each rule, in the order of the configuration
 * @param targets by name
 * @param sequence whether the call is one of a sequence
 * @param key what is hashed: its sequence's id, or else the value of its sticky key; null where it has neither
 * @param hashed the name of the target that this goes to where no rule names one; null where nothing is hashed
 * @param shadows the targets that get copies, in the order of the configuration
 * @param fallback what takes over from a target that failed; null where nothing does
 */
public record RouteDecision(
        List<RuleResult> rules,
        Map<String, TargetShare> targets,
        boolean sequence,
        @Nullable String key,
        @Nullable String hashed,
        List<Target> shadows,
        @Nullable Target fallback) {

    /** What came of a rule. */
    public enum RuleResult {
        NO_MATCH,
        /** It matches, but its target has another version than the call names. */
        OTHER_VERSION,
        /** It names the target. */
        CHOSEN,
        /** It matches, but an earlier one names the target. */
        LATER
    }

    /**
     * What a target gets.
     *
     * @param share of such calls, from 0 to 1
     * @param serves whether it may serve the version that they name
     */
    public record TargetShare(Target target, double share, boolean serves) {}

    public RouteDecision {
        rules = List.copyOf(rules);
        targets = Map.copyOf(targets);
        shadows = List.copyOf(shadows);
    }

    /** Whether a rule names the target. */
    public boolean ruled() {
        return rules.contains(RuleResult.CHOSEN);
    }
}
