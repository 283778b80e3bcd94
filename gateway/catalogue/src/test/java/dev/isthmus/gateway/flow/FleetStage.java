package dev.isthmus.gateway.flow;

import dev.isthmus.gateway.catalogue.Catalogue;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.LocalConfig;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.UpstreamConfig;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Stages with a control plane. */
final class FleetStage {
    private FleetStage() {}

    static Stage with(GatewayConfig config) throws Exception {
        return Stage.with(config, FleetControlPlane::new);
    }

    /** As configured by records. */
    static Stage fleet(
            Map<String, UpstreamConfig> upstreams,
            Map<String, ModelConfig> models,
            GatewayConfig.HealthConfig health,
            @Nullable String fallback)
            throws Exception {
        return with(Stage.config(upstreams, models, health, fallback, GatewayConfig.LOCAL.equals(fallback)));
    }

    /** Routes models to upstreams by name. */
    static Stage routing(Map<String, UpstreamConfig> upstreams, Map<String, String> models, @Nullable String fallback)
            throws Exception {
        return fleet(upstreams, Stage.configs(models), DefaultValues.of(GatewayConfig.HealthConfig.class), fallback);
    }

    /** Routes everything to one server. */
    static Stage of(UpstreamConfig upstream) throws Exception {
        return routing(Map.of("server", upstream), Map.of(), "server");
    }

    /** Routes everything to the embedded models. */
    static Stage local() throws Exception {
        return with(Stage.config(LocalConfig.EMBEDDED));
    }

    /** Routes everything to the models of a repository. */
    static Stage local(LocalConfig local) throws Exception {
        return with(Stage.config(local));
    }

    /** The catalogue of a stage with a control plane. */
    static Catalogue catalogue(Stage stage) {
        return ((FleetControlPlane) stage.proxy().control()).catalogue();
    }
}
