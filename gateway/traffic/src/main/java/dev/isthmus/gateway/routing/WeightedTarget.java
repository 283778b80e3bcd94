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
 * @param model the name there; null for the client's
 * @param version the version there; null for the client's
 * @param versions what the client's means there
 * @param service the upstream behind the services of the route
 */
record WeightedTarget(
        String name,
        Upstream upstream,
        @Nullable String model,
        @Nullable String version,
        Route.VersionRule versions,
        AtomicReference<Upstream> service) {

    /** @param otherwise the model's name there if the target has none; null for the client's */
    static WeightedTarget of(
            ModelConfig.TargetConfig target,
            @Nullable String otherwise,
            Route.VersionRule versions,
            Function<String, Upstream> upstreams) {
        Upstream upstream = upstreams.apply(target.upstream());
        String model = target.model() == null ? otherwise : target.model();
        return new WeightedTarget(
                target.label(), upstream, model, target.version(), versions, new AtomicReference<>(upstream));
    }

    /** Puts services around the upstream, the first one outermost. */
    void serve(List<RouteService> services) {
        services.reversed().forEach(each -> service.setPlain(each.around(service.getPlain())));
    }

    Target target(ModelRef requested) {
        String there = model == null ? requested.name() : model;
        String versionThere = version == null ? versions.of(requested) : version;
        boolean same = there.equals(requested.name()) && versionThere.equals(requested.version());
        ModelRef served = same ? requested : new ModelRef(there, versionThere);
        return new Target(upstream, service.getPlain(), served, name);
    }

    /** Its destination, which is equal in successive tables even if the target is renamed. */
    Destination destination() {
        return new Destination(upstream.name(), model == null ? "" : model, version == null ? "" : version);
    }

    /**
     * Identifies a destination by configured values.
     *
     * @param model empty for the client's
     * @param version empty for the client's
     */
    record Destination(String upstream, String model, String version) {}
}
