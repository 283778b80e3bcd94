package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.settings.ModelConfig.ReadyPolicy;
import java.util.List;

/**
 * Where the calls of a model go.
 *
 * @param targets all of them, in the order of the configuration
 * @param configured whether the model is configured by its name, and not by a pattern, discovery or the default upstream
 * @param policy when it is ready
 */
public record ModelLocation(List<Target> targets, boolean configured, ReadyPolicy policy) {

    public ModelLocation {
        targets = List.copyOf(targets);
    }
}
