package dev.isthmus.gateway.explain;

import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.RequestValidation;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;

/**
 * The layers that an inference passes with a configuration, the outermost first, and what each does to it. A test compares
 * the names with the layers of a real gateway.
 */
public final class LayerExplanation {
    private final GatewayConfig config;
    private final List<ExplainedLayer> layers = new ArrayList<>();

    /** What a layer does to a call. */
    public record ExplainedLayer(String name, String does) {
        @Override
        public String toString() {
            return "  " + name + ": " + does;
        }
    }

    private LayerExplanation(GatewayConfig config) {
        this.config = config;
    }

    /** The layers of a configuration, for a call to this model. */
    public static List<ExplainedLayer> of(GatewayConfig config, ModelConfig model) {
        LayerExplanation explanation = new LayerExplanation(config);
        explanation.observed();
        explanation.admitted();
        explanation.routed(model);
        return config.layers()
                .placed(
                        explanation.layers,
                        ExplainedLayer::name,
                        added -> new ExplainedLayer(added.name(), added.doc()));
    }

    private void add(boolean present, String name, String does) {
        if (present) {
            layers.add(new ExplainedLayer(name, does));
        }
    }

    private void observed() {
        boolean forwarded = config.headers().forwarded().contains("x-request-id");
        add(true, "request_ids", "adds x-request-id to the response" + (forwarded ? " and the request" : ""));
        add(true, "generation", "keeps this configuration until the call has ended");
        add(true, "timelines", "shows the call to the console's page that sent it");
        add(true, "live_calls", "shows the call to pages that watch");
        add(true, "server_errors", "keeps the last errors of each server");
        add(true, "audit", "records what it changes in servers");
        add(config.accessLog() != null, "access_log", "writes a line");
        add(true, "caller_metrics", "counts the call for its caller");
        add(true, "call_metrics", "counts the call for its model");
        add(config.tracing() != null, "tracing", "begins a span if the call is sampled");
        switch (config.answers().errors()) {
            case PASSED -> {}
            case CLIENT_ERRORS -> add(true, "error_texts", "hides servers' texts, but for those about the request");
            case GENERIC -> add(true, "error_texts", "hides servers' texts");
        }
    }

    private void admitted() {
        add(config.authentication() != null, "authentication", "identifies the caller");
        add(true, "authorization", config.access() == null ? "lets inferences pass" : "asks the rules of 'access'");
        add(config.payloadLog() != null, "payload_log", "writes request and response if the call is sampled");
        add(true, "admission", "takes one of " + config.limits().maxRequests() + " permits");
    }

    private void routed(ModelConfig model) {
        add(true, "routing", "finds the route of the model");
        add(
                any(ModelConfig::rates),
                "rate_limits",
                model.rates().isEmpty() ? "has none here" : "counts it on its rates");
        add(true, "target_metrics", "counts the outcome for the target");
        boolean ramps = config.models().values().stream().anyMatch(each -> each.ramp() != null);
        add(ramps, "ramps", model.ramp() == null ? "has none here" : "reports outcome and latency to the ramp");
        add(RequestValidation.isConfigured(config), "validation", validation(model));
        boolean caches =
                config.models().values().stream().anyMatch(each -> each.cache() != null && each.deterministic());
        add(caches, "cache_purge", "removes cached responses of models that are loaded or unloaded");
    }

    private String validation(ModelConfig model) {
        return switch (Objects.requireNonNullElse(model.validate(), config.validate())) {
            case STRICT -> "refuses requests that do not match the metadata of the model, once they are known";
            case REPORT -> "counts and logs requests that do not match the metadata of the model, and lets them pass";
            case OFF -> "is off here";
        };
    }

    /** A list in the settings of a model. */
    @FunctionalInterface
    private interface Setting {
        Collection<?> of(ModelConfig model);
    }

    private boolean any(Setting setting) {
        return config.models().values().stream()
                .anyMatch(model -> !setting.of(model).isEmpty());
    }
}
