package dev.isthmus.gateway.routing;

import java.util.HashMap;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The arms that one stream of requests was given by chance: a stream keeps them, so that its requests to a model stay in order
 * on one server. An arm that has no share any more is left. Used by the stream's event loop; as large as the configuration at
 * most.
 */
public final class StreamSelections {
    private final Map<String, String> armByRoute = new HashMap<>();

    WeightedTarget arm(String route, WeightedTargets split, @Nullable RequestedVersion named, RandomGenerator random) {
        if (split.size() == 1) {
            return split.at(0);
        }
        String key = named == null ? route : route + '\n' + named.version();
        String name = armByRoute.get(key);
        WeightedTarget kept = name == null ? null : split.named(name);
        if (kept != null && split.keeps(kept, named)) {
            return kept;
        }
        WeightedTarget arm = split.at(random.nextLong(), named);
        armByRoute.put(key, arm.name());
        return arm;
    }
}
