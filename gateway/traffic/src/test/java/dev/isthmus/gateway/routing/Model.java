package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.ModelConfig;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Builds the configuration of a model. */
final class Model {
    private final List<ModelConfig.TargetConfig> targets = new ArrayList<>();
    private final List<String> aliases = new ArrayList<>();
    private final Map<String, String> versions = new HashMap<>();
    private final List<ModelConfig.RuleConfig> rules = new ArrayList<>();
    private final List<ModelConfig.ShadowConfig> shadows = new ArrayList<>();
    private final List<ModelConfig.Rate> rates = new ArrayList<>();
    private @Nullable String defaultVersion;
    private ModelConfig.ExplicitVersion explicitVersion = ModelConfig.ExplicitVersion.HONOR;
    private ModelConfig.@Nullable RequestKey sticky;
    private ModelConfig.@Nullable Fallback fallback;

    /** A model on one upstream. */
    static Model on(String upstream) {
        return new Model().target(upstream, upstream, null, null, 1);
    }

    /** The targets canary and stable with these weights. */
    static Model split(int canary, int stable) {
        return new Model().arm("canary", canary).arm("stable", stable);
    }

    /** A target on an upstream of its own name. */
    Model arm(String name, int weight) {
        return target(name, name, null, null, weight);
    }

    Model target(String name, String upstream, @Nullable String model, @Nullable String version, int weight) {
        targets.add(new ModelConfig.TargetConfig(name, upstream, model, version, weight));
        return this;
    }

    Model alias(String alias) {
        aliases.add(alias);
        return this;
    }

    Model label(String label, String version) {
        versions.put(label, version);
        return this;
    }

    Model defaultVersion(String version) {
        defaultVersion = version;
        return this;
    }

    Model overridesVersions() {
        explicitVersion = ModelConfig.ExplicitVersion.OVERRIDE;
        return this;
    }

    Model rule(Map<String, String> headers, Map<String, String> parameters, String target) {
        rules.add(new ModelConfig.RuleConfig(headers, parameters, target));
        return this;
    }

    Model stickyHeader(String name) {
        sticky = new ModelConfig.RequestKey(name, null);
        return this;
    }

    Model stickyParameter(String name) {
        sticky = new ModelConfig.RequestKey(null, name);
        return this;
    }

    Model fallback(String upstream, @Nullable String model, @Nullable String version) {
        fallback = new ModelConfig.Fallback(upstream, model, version);
        return this;
    }

    Model shadow(String upstream, @Nullable String model) {
        ModelConfig.ShadowConfig some = DefaultValues.of(ModelConfig.ShadowConfig.class);
        shadows.add(new ModelConfig.ShadowConfig(
                null, upstream, model, null, some.sample(), false, 0, 0, some.timeout(), some.maxInFlight()));
        return this;
    }

    Model rate(@Nullable String header) {
        ModelConfig.Rate some = DefaultValues.of(ModelConfig.Rate.class);
        rates.add(new ModelConfig.Rate(header, false, 1, null, some.burst()));
        return this;
    }

    ModelConfig config() {
        return new ModelConfig(
                null,
                null,
                null,
                targets,
                aliases,
                versions,
                defaultVersion,
                explicitVersion,
                rules,
                sticky,
                shadows,
                null,
                fallback,
                rates,
                null,
                null,
                null,
                null,
                null,
                null,
                true);
    }
}
