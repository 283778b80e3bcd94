package dev.isthmus.gateway.explain;

import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.ModelConfig;
import java.util.List;
import java.util.Objects;

/**
 * A layer that an inference passes.
 *
 * @param does what it does to it
 */
public record LayerExplanation(String name, String does) {

    /** The layers of a configuration that a call to this model passes, the outermost first. */
    public static List<LayerExplanation> of(GatewayConfig config, ModelConfig model) {
        return config.layers()
                .placed(
                        config,
                        own -> new LayerExplanation(own.toString(), Objects.requireNonNull(own.does(config, model))),
                        added -> new LayerExplanation(added.name(), added.doc()));
    }

    @Override
    public String toString() {
        return "  " + name + ": " + does;
    }
}
