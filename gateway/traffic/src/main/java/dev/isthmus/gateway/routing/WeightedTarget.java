package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.upstream.RouteService;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A configured target of a route; what is requested from it depends on the client's request. */
final class WeightedTarget {
    private static final String FALLBACK = "fallback";

    private final String name;
    private final Upstream upstream;
    private final @Nullable String model;
    private final @Nullable String version;
    private final UpstreamModelName naming;
    private Upstream service;

    private WeightedTarget(
            String name,
            Upstream upstream,
            @Nullable String model,
            @Nullable String version,
            UpstreamModelName naming) {
        this.name = name;
        this.upstream = upstream;
        this.model = model;
        this.version = version;
        this.naming = naming;
        this.service = upstream;
    }

    static WeightedTarget of(
            ModelConfig.TargetConfig target, Function<String, Upstream> upstreams, UpstreamModelName naming) {
        return new WeightedTarget(
                target.label(), upstreams.apply(target.upstream()), target.model(), target.version(), naming);
    }

    static WeightedTarget of(
            ModelConfig.ShadowConfig shadow, Function<String, Upstream> upstreams, UpstreamModelName naming) {
        return new WeightedTarget(
                shadow.label(), upstreams.apply(shadow.upstream()), shadow.model(), shadow.version(), naming);
    }

    static WeightedTarget of(
            ModelConfig.Fallback fallback, Function<String, Upstream> upstreams, UpstreamModelName naming) {
        return new WeightedTarget(
                FALLBACK, upstreams.apply(fallback.upstream()), fallback.model(), fallback.version(), naming);
    }

    String name() {
        return name;
    }

    Upstream upstream() {
        return upstream;
    }

    /** The name there; null for the default. */
    @Nullable
    String model() {
        return model;
    }

    /** The version there; null for the client's. */
    @Nullable
    String version() {
        return version;
    }

    /** The upstream behind the services of the route. */
    Upstream service() {
        return service;
    }

    /** Puts services around the upstream, the first one outermost. */
    void serve(List<RouteService> services) {
        for (RouteService each : services.reversed()) {
            service = each.around(service);
        }
    }

    Target target(ModelRef requested) {
        return new Target(upstream, service, naming.of(requested, model, version), name);
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
