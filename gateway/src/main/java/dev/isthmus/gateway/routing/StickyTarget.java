package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.config.ModelConfig.Target;
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
    public static String of(String route, List<Target> targets, String value) {
        List<Target> sorted =
                targets.stream().sorted(Comparator.comparing(Target::label)).toList();
        double[] ends = Split.ends(sorted.stream().mapToDouble(Target::weight).toArray());
        double point = Hash.unit(Hash.of(Hash.of(route), value));
        return sorted.get(Split.index(ends, point)).label();
    }
}
