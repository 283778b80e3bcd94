package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.config.ModelConfig;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A target as it is configured: what it is asked for depends on what the client asks.
 *
 * @param model the name there; null for the same
 * @param version the version there; null for the client's
 */
record Arm(
        String name,
        Upstream upstream,
        @Nullable String model,
        @Nullable String version,
        Naming naming) {
    private static final String FALLBACK = "fallback";

    static Arm of(ModelConfig.Target target, Function<String, Upstream> upstreams, Naming naming) {
        return new Arm(target.label(), upstreams.apply(target.upstream()), target.model(), target.version(), naming);
    }

    static Arm of(ModelConfig.Shadow shadow, Function<String, Upstream> upstreams, Naming naming) {
        return new Arm(shadow.label(), upstreams.apply(shadow.upstream()), shadow.model(), shadow.version(), naming);
    }

    static Arm of(ModelConfig.Fallback fallback, Function<String, Upstream> upstreams, Naming naming) {
        return new Arm(FALLBACK, upstreams.apply(fallback.upstream()), fallback.model(), fallback.version(), naming);
    }

    Target target(ModelRef asked) {
        return new Target(upstream, naming.of(asked, model, version), name);
    }

    /** The same place in tables made one after the other, whatever the arm is called there. */
    Place place() {
        String called = model != null ? model : naming.name();
        return new Place(upstream.name(), called == null ? "" : called, version == null ? "" : version);
    }

    /**
     * Names a place behind the gateway by texts of the configuration.
     *
     * @param model empty for the client's own
     * @param version empty for the client's own
     */
    record Place(String upstream, String model, String version) {}
}
