package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import java.util.Comparator;
import java.util.List;

/** Where a sticky key goes by the configured weights, for people who ask without a gateway that runs. */
public final class StickyTarget {
    private StickyTarget() {}

    /**
     * The name of the target.
     *
     * @param route the route's key
     * @param targets those that may serve the call, at least one
     */
    public static String of(String route, List<TargetConfig> targets, String value) {
        List<TargetConfig> sorted = targets.stream()
                .sorted(Comparator.comparing(TargetConfig::label))
                .toList();
        double[] ends = WeightedTargets.ends(
                sorted.stream().mapToDouble(TargetConfig::weight).toArray());
        double point = StickyHash.unit(StickyHash.of(StickyHash.of(route), value));
        return sorted.get(WeightedTargets.index(ends, point)).label();
    }
}
