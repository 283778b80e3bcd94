package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Models and upstreams that are not in the file: resources of a cluster, watched through {@link KubernetesConfig}. */
@Doc("Models and upstreams that are found in a cluster of Kubernetes, besides those of this file. 'kubernetes' says "
        + "how its API server is reached.")
public record DiscoverConfig(
        @Doc(
                "InferenceServices of KServe. Each that is ready, or has been, becomes a model with its name, or those that "
                        + "its servers list, and its predictor an upstream. A model of this file with the same name or alias takes "
                        + "precedence.")
        List<KServeConfig> kserve)
        implements CheckedSection {

    @Override
    public void check(SectionCheck check) {
        Set<List<String>> seen = new HashSet<>();
        for (KServeConfig each : kserve) {
            if (check.at(each).valid("namespace", "selector", "port")
                    && !seen.add(List.of(each.namespace(), each.selector() == null ? "" : each.selector()))) {
                check.at(each)
                        .problem("kserve: namespace '" + each.namespace() + "' is given twice with this selector");
            }
        }
    }

    /** A setting of a model that an InferenceService may have as an annotation. */
    public enum ModelAnnotation {
        ALIAS,
        STICKY,
        RATES,
        CACHE
    }

    @Doc("InferenceServices of one namespace.")
    public record KServeConfig(
            @Doc("The namespace.") @Required String namespace,

            @Doc("Label selector, as kubectl takes it: team=vision,stage!=test. Default: all InferenceServices.")
            @Nullable
            String selector,

            @Doc(
                    "Protocol in which the predictors are called. Default: as each resource or its runtime says, v2 (rest) or "
                            + "grpc-v2 (grpc); those of another protocol are no models.")
            @Nullable
            UpstreamProtocol protocol,

            @Doc("Name of the port of the predictors' Services, if it is not their only or first one.") @Nullable
            String port,

            @Doc(
                    "Settings of their models that InferenceServices may have as annotations isthmus.dev/NAME, in the form of "
                            + "this file. Default: none.")
            List<ModelAnnotation> annotations,

            @Doc("Settings of the upstreams, over those of 'upstream_defaults'. 'protocol', 'endpoints' and 'discover' "
                    + "do not count.")
            @DefaultsFrom("upstream_defaults")
            UpstreamConfig upstream)
            implements CheckedSection {
        private static final String LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";

        private static final String SELECTOR = "[A-Za-z0-9_./!=, ()-]+";

        @Override
        public void check(SectionCheck check) {
            if (check.valid("namespace", "selector", "port")) {
                check.expect(namespace.matches(LABEL), "namespace", "the name of a namespace is expected", namespace);
                check.expect(
                        text -> text.matches(SELECTOR),
                        "selector",
                        "a label selector such as team=vision is expected",
                        selector);
                check.expect(text -> text.matches(LABEL), "port", "the name of a port is expected", port);
            }
        }
    }
}
