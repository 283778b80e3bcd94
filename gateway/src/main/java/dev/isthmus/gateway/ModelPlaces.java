package dev.isthmus.gateway;

import dev.isthmus.gateway.catalogue.ModelReadiness;
import dev.isthmus.gateway.catalogue.Place;
import dev.isthmus.gateway.catalogue.Places;
import dev.isthmus.gateway.config.GatewayConfig;
import dev.isthmus.gateway.config.ModelConfig;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** Where models go: all targets of the configured ones, and what routing says of the others. */
final class ModelPlaces implements Places {
    private final GatewayConfig config;
    private final RoutingTable routes;
    private final Function<String, Upstream> upstreams;
    private final List<String> configured;

    ModelPlaces(GatewayConfig config, RoutingTable routes, Function<String, Upstream> upstreams) {
        this.config = config;
        this.routes = routes;
        this.upstreams = upstreams;
        this.configured = config.models().keySet().stream()
                .filter(name -> name.indexOf('*') < 0)
                .sorted()
                .toList();
    }

    @Override
    public Place of(ModelRef asked) {
        Map<String, ModelConfig> models = config.models();
        ModelConfig model = models.get(asked.name());
        if (model == null) {
            return new Place(
                    List.of(routes.pick(asked)), false, policy(config.health().modelReady()));
        }
        List<Target> targets = model.allTargets().stream()
                .map(target -> new Target(upstreams.apply(target.upstream()), there(target, asked)))
                .toList();
        ModelConfig.ReadyPolicy ready = model.ready();
        return new Place(targets, true, policy(ready == null ? config.health().modelReady() : ready));
    }

    private static ModelRef there(ModelConfig.Target target, ModelRef asked) {
        String name = target.model() == null ? asked.name() : target.model();
        String version = target.version() == null ? asked.version() : target.version();
        return new ModelRef(name, version);
    }

    static ModelReadiness policy(ModelConfig.ReadyPolicy policy) {
        return switch (policy) {
            case ANY -> ModelReadiness.ANY;
            case ALL -> ModelReadiness.ALL;
            case QUORUM -> ModelReadiness.QUORUM;
        };
    }

    @Override
    public List<String> configured() {
        return configured;
    }

    @Override
    public Optional<Upstream> defaultUpstream() {
        return routes.defaultUpstream();
    }
}
