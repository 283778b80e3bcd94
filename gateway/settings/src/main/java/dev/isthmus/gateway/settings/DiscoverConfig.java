package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Models and upstreams that are not in the file: resources of a cluster, watched through {@link KubernetesConfig}. */
@Doc("Models and upstreams that are found in a cluster of Kubernetes, besides those of this file. 'kubernetes' says "
        + "how its API server is reached.")
public record DiscoverConfig(
        @Doc("InferenceServices of KServe. Each that is ready, or has been, becomes a model with its name, and its "
                + "predictor an upstream. A model of this file with the same name or alias takes precedence.")
        List<KServeConfig> kserve) {
    /** Nothing. */
    public static final DiscoverConfig DEFAULT = DefaultValues.of(DiscoverConfig.class);

    public DiscoverConfig {
        kserve = List.copyOf(kserve);
    }

    /** InferenceServices of one namespace. */
    @Doc("InferenceServices of one namespace.")
    public record KServeConfig(
            @Doc("The namespace.") @Required String namespace,

            @Doc("Label selector, as kubectl takes it: team=vision,stage!=test. Default: all InferenceServices.")
            @Nullable
            String selector,

            @Doc("Protocol in which the predictors are called. Default: as each resource says, v2 (rest) or grpc-v2 "
                    + "(grpc); those of another protocol are no models.")
            @Nullable
            UpstreamProtocol protocol,

            @Doc("Name of the port of the predictors' Services, if it is not their only or first one.") @Nullable
            String port,

            @Doc("Settings of the upstreams, over those of 'upstream_defaults'. 'protocol', 'endpoints' and 'discover' "
                    + "do not count.")
            @DefaultsFrom("upstream_defaults")
            UpstreamConfig upstream) {
        /** All defaults; without a namespace. */
        public static final KServeConfig DEFAULT = DefaultValues.of(KServeConfig.class);
    }
}
