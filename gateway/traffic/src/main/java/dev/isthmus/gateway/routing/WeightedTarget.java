package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.upstream.RouteService;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A configured target of a route; what is requested from it depends on the client's request.
 *
 * @param model the name there; null for the default
 * @param version the version there; null for the client's
 * @param service the upstream behind the services of the route
 */
record WeightedTarget(
        String name,
        Upstream upstream,
        @Nullable String model,
        @Nullable String version,
        UpstreamModelName naming,
        AtomicReference<Upstream> service) {

    static WeightedTarget of(
            ModelConfig.TargetConfig target, Function<String, Upstream> upstreams, UpstreamModelName naming) {
        Upstream upstream = upstreams.apply(target.upstream());
        return new WeightedTarget(
                target.label(), upstream, target.model(), target.version(), naming, new AtomicReference<>(upstream));
    }

    /** Puts services around the upstream, the first one outermost. */
    void serve(List<RouteService> services) {
        services.reversed().forEach(each -> service.setPlain(each.around(service.getPlain())));
    }

    Target target(ModelRef requested) {
        return new Target(upstream, service.getPlain(), naming.of(requested, model, version), name);
    }

    /** Its destination, which is equal in successive tables even if the target is renamed. */
    Destination destination() {
        String modelName = model != null ? model : naming.name();
        return new Destination(upstream.name(), modelName == null ? "" : modelName, version == null ? "" : version);
    }

    /**
     * Identifies a destination by configured values.
     *
     * @param model empty for the client's
     * @param version empty for the client's
     */
    record Destination(String upstream, String model, String version) {}
}
