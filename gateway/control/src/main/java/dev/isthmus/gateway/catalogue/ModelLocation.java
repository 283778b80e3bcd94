package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.settings.ModelConfig.ReadyPolicy;
import java.util.List;

/**
 * Where the calls of a model are routed.
 *
 * @param targets all of them, in configuration order
 * @param configured whether the model is configured by name, not by a pattern, discovery or the default upstream
 * @param policy when it is ready
 */
public record ModelLocation(List<Target> targets, boolean configured, ReadyPolicy policy) {

    public ModelLocation {
        targets = List.copyOf(targets);
    }
}
