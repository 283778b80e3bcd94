package dev.isthmus.gateway.call;

import dev.isthmus.gateway.settings.LayerSettings;
import io.micrometer.core.instrument.MeterRegistry;

/**
 * The way in for a layer of one's own: the settings of a layer that a jar brings, which create it. The jar's manifest names
 * the class, {@code docs/guides/layers.md} describes how.
 */
public interface LayerFactory extends LayerSettings {

    /**
     * Creates the layer of one configuration; called when that is applied, at start and at each reload. May block.
     *
     * @param name what its {@link Layer#name()} returns
     * @param meters where it registers its meters; those of the same name and tags are the same for all configurations
     * @throws RuntimeException if it cannot be created: the configuration is then refused
     */
    Layer layer(String name, MeterRegistry meters);
}
