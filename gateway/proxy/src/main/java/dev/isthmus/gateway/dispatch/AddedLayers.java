package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.LayerFactory;
import dev.isthmus.gateway.settings.BuiltInLayer;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.LayersConfig.AddedLayer;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The layers of a configuration that jars bring. */
public final class AddedLayers {
    private static final Logger LOG = LoggerFactory.getLogger(AddedLayers.class);

    private final GatewayConfig config;
    private final MeterRegistry meters;
    private final List<Layer> created = new ArrayList<>();

    public AddedLayers(GatewayConfig config, MeterRegistry meters) {
        this.config = config;
        this.meters = meters;
    }

    /**
     * The layers of the configuration, the outermost first; creates the added ones. May block.
     *
     * @param own makes the gateway's own
     * @throws IllegalArgumentException if one cannot be created
     */
    public List<Layer> among(Function<BuiltInLayer, Layer> own) {
        return config.layers().placed(config, own, this::create);
    }

    private Layer create(AddedLayer added) {
        String name = added.name();
        Layer layer;
        try {
            if (!(added.settings() instanceof LayerFactory factory)) {
                throw new IllegalArgumentException("settings that implement LayerFactory are expected");
            }
            layer = factory.layer(name, meters);
        } catch (RuntimeException | LinkageError e) {
            throw new IllegalArgumentException("the layer '" + name + "' cannot be created: " + e.getMessage(), e);
        }
        created.add(layer);
        if (!layer.name().equals(name)) {
            throw new IllegalArgumentException(
                    "the layer '" + name + "' is expected to return this name, got '" + layer.name() + "'");
        }
        return layer;
    }

    /** No call passes them any more. */
    public void close() {
        for (Layer each : created) {
            try {
                each.close();
            } catch (RuntimeException fault) {
                LOG.error("the layer '{}' has a fault: it cannot be closed", each.name(), fault);
            }
        }
        created.clear();
    }
}
