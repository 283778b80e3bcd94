package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.settings.ModelConfig;
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
record WeightedTarget(
        String name,
        Upstream upstream,
        @Nullable String model,
        @Nullable String version,
        UpstreamModelName naming) {
    private static final String FALLBACK = "fallback";

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

    Target target(ModelRef asked) {
        return new Target(upstream, naming.of(asked, model, version), name);
    }

    /** The same place in tables made one after the other, whatever the arm is called there. */
    TargetFactory place() {
        String called = model != null ? model : naming.name();
        return new TargetFactory(upstream.name(), called == null ? "" : called, version == null ? "" : version);
    }

    /**
     * Names a place behind the gateway by texts of the configuration.
     *
     * @param model empty for the client's own
     * @param version empty for the client's own
     */
    record TargetFactory(String upstream, String model, String version) {}
}
