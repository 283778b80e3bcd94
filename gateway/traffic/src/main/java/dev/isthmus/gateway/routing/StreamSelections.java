package dev.isthmus.gateway.routing;

import java.util.HashMap;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The targets chosen at random for one stream of requests: a stream keeps them, so that its requests to a model stay in
 * order on one server. A target whose share has become 0 is replaced. Used on the stream's event loop; bounded by the
 * size of the configuration.
 */
public final class StreamSelections {
    private final Map<String, String> armByRoute = new HashMap<>();

    WeightedTarget arm(
            String route, WeightedTargets split, @Nullable RequestedVersion version, RandomGenerator random) {
        String key = version == null ? route : route + '\n' + version.version();
        String name = armByRoute.get(key);
        WeightedTarget previous = name == null ? null : split.named(name);
        if (previous != null && split.keeps(previous, version)) {
            return previous;
        }
        WeightedTarget arm = split.at(random.nextLong(), version);
        armByRoute.put(key, arm.name());
        return arm;
    }
}
