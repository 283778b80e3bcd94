package dev.isthmus.gateway.settings;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The gateway's own layers, the outermost first: which of them a configuration has, and what each does to an inference.
 */
public enum BuiltInLayer {
    REQUEST_IDS((config, model) -> "adds x-request-id to the response"
            + (config.headers().forwarded().contains("x-request-id") ? " and the request" : "")),
    GENERATION("keeps this configuration until the call has ended"),
    ENDED_CALLS("records it if it fails or changes a server, and shows it to pages that watch"),
    ACCESS_LOG(GatewayConfig::accessLog, "writes a line"),
    CALLER_METRICS("counts the call for its caller"),
    CALL_METRICS("counts the call for its model"),
    TRACING(GatewayConfig::tracing, "begins a span if the call is sampled"),
    ERROR_TEXTS((config, model) -> switch (config.answers().errors()) {
        case PASSED -> null;
        case CLIENT_ERRORS -> "hides servers' texts, but for those about the request";
        case GENERIC -> "hides servers' texts";
    }),
    AUTHENTICATION(GatewayConfig::authentication, "identifies the caller"),
    AUTHORIZATION((config, model) -> config.access() == null ? "lets inferences pass" : "asks the rules of 'access'"),
    EXTERNAL_AUTHORIZATION(GatewayConfig::externalAuthorization, "asks the authorization service"),
    PAYLOAD_LOG(GatewayConfig::payloadLog, "writes request and response if the call is sampled"),
    ADMISSION((config, model) -> "takes one of " + config.limits().maxRequests() + " permits"),
    ROUTING("finds the route of the model"),
    RATE_LIMITS(ofModel(
            model -> !model.rates().isEmpty(),
            model -> model.rates().isEmpty() ? "has none here" : "counts it on its rates")),
    TARGET_METRICS("counts the outcome for the target"),
    RAMPS(ofModel(
            model -> model.ramp() != null,
            model -> model.ramp() == null ? "has none here" : "reports outcome and latency to the ramp")),
    /** A place for added layers: shadows are no layer. */
    SHADOWS((config, model) -> null),
    VALIDATION((config, model) -> config.validate() == RequestValidation.OFF
                    && !any(config, each -> each.validate() != null && each.validate() != RequestValidation.OFF)
            ? null
            : switch (Objects.requireNonNullElse(model.validate(), config.validate())) {
                case STRICT -> "refuses requests that do not match the metadata of the model, once they are known";
                case REPORT ->
                    "counts and logs requests that do not match the metadata of the model, and lets them pass";
                case OFF -> "is off here";
            }),
    CACHE_PURGE(ofModel(
            model -> model.cache() != null && model.deterministic(),
            model -> "removes cached responses of models that are loaded or unloaded"));

    private static final List<BuiltInLayer> ALL = List.of(values());

    @SuppressWarnings("ImmutableEnumChecker") // lambdas without state
    private final Effect effect;

    /** What a layer does to an inference; null if the configuration does not have it. */
    private interface Effect {
        @Nullable
        String of(GatewayConfig config, ModelConfig model);
    }

    BuiltInLayer(String does) {
        this((config, model) -> does);
    }

    BuiltInLayer(Function<GatewayConfig, @Nullable Object> section, String does) {
        this((config, model) -> section.apply(config) == null ? null : does);
    }

    BuiltInLayer(Effect effect) {
        this.effect = effect;
    }

    /** Of a layer that is there if any model needs it. */
    private static Effect ofModel(Predicate<ModelConfig> needs, Function<ModelConfig, String> does) {
        return (config, model) -> any(config, needs) ? does.apply(model) : null;
    }

    private static boolean any(GatewayConfig config, Predicate<ModelConfig> needs) {
        return config.models().values().stream().anyMatch(needs);
    }

    /** What it does to an inference of a model; null if the configuration does not have it. */
    public @Nullable String does(GatewayConfig config, ModelConfig model) {
        return effect.of(config, model);
    }

    /** Those that a configuration has, the outermost first. */
    public static List<BuiltInLayer> of(GatewayConfig config) {
        return Arrays.stream(values())
                .filter(each -> each.does(config, ModelConfig.DEFAULT) != null)
                .toList();
    }

    /** Its place in the order of all, the outermost first. */
    int place() {
        return ALL.indexOf(this);
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
