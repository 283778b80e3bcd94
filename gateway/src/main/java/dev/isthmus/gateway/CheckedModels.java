package dev.isthmus.gateway;

import dev.isthmus.gateway.config.GatewayConfig;
import dev.isthmus.gateway.config.ModelConfig;
import dev.isthmus.gateway.config.ModelPattern;
import dev.isthmus.oip.ModelRef;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** The models whose readiness every server of an upstream is asked for: those that are configured by name. */
final class CheckedModels {
    private volatile Map<String, Set<ModelRef>> byUpstream = Map.of();

    /** As the servers of an upstream know them. */
    Set<ModelRef> of(String upstream) {
        return byUpstream.getOrDefault(upstream, Set.of());
    }

    /** From now on those of this configuration. */
    void configure(GatewayConfig config) {
        Map<String, Set<ModelRef>> found = new HashMap<>();
        config.models().forEach((name, model) -> {
            if (!ModelPattern.is(name)) {
                model.allTargets().forEach(target -> add(found, name, target));
            }
        });
        byUpstream = Map.copyOf(found);
    }

    private static void add(Map<String, Set<ModelRef>> found, String name, ModelConfig.Target target) {
        found.computeIfAbsent(target.upstream(), upstream -> new HashSet<>())
                .add(new ModelRef(
                        Objects.requireNonNullElse(target.model(), name),
                        Objects.requireNonNullElse(target.version(), "")));
    }
}
