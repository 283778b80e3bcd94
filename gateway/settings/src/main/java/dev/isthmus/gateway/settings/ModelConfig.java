package dev.isthmus.gateway.settings;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The routing of one model, or of all models whose names match a pattern. */
@Doc("Route of a model. The name is exact or a pattern with * in it; exact names come first, then longer patterns.")
public record ModelConfig(
        @Doc("Upstream of the only target.") @Nullable String upstream,

        @Doc("Name of the model on that upstream, if it differs.") @Nullable
        String model,

        @Doc("Version that is called.") @Nullable String version,

        @Doc("Several targets with weights, in place of upstream, model and version.")
        List<TargetConfig> targets,

        @Doc("Further names of the model.") List<String> aliases,

        @Doc("Labels that clients may use in place of a version.")
        Map<String, String> versions,

        @Doc("Version or label for calls that name none. By default the server chooses, usually its latest.") @Nullable
        String defaultVersion,

        @Doc("For a call that names a version or label. honor: that version serves it, or it is refused "
                + "with 404; override: the target's version replaces it.")
        @Default("honor")
        ExplicitVersion explicitVersion,

        @Doc("Calls that match go to a given target; the first matching rule counts.")
        List<RuleConfig> rules,

        @Doc("Header or request parameter whose hash keeps a client on one target and one server.") @Nullable
        RequestKey sticky,

        @Doc("Targets that get copies of calls. Their responses are compared or dropped, never returned.")
        List<ShadowConfig> shadow,

        @Doc("Raises the share of one target step by step, and rolls back if it performs worse.") @Nullable
        RampConfig ramp,

        @Doc("Target for calls that failed because servers were unreachable, timed out or responded 503.") @Nullable
        Fallback fallback,

        @Doc("Rate limits.") List<Rate> rates,

        @Doc("Timeout of one call with all its attempts, if the client sets no deadline.") @Nullable
        Duration timeout,

        @Doc("How many replicas must be ready; default: health.model_ready.") @Nullable
        ReadyPolicy ready,

        @Doc("Comparison of requests with the model's metadata; default: validate.") @Nullable
        RequestValidation validate,

        @Nullable ObjectivesConfig objectives,
        @Nullable BatchingConfig batching,

        @Doc("Responses that are returned to equal requests. By default none are.") @Nullable
        CacheConfig cache,

        @Doc("Whether equal requests get equal responses. false: the model is never cached, whatever 'cache' says.")
        @Default("true")
        boolean deterministic)
        implements CheckedSection {

    public static final ModelConfig DEFAULT = DefaultValues.of(ModelConfig.class);

    @Override
    public void check(SectionCheck check) {
        new ModelConfigChecks(this, check).run();
    }

    /** A model that is routed to one upstream under its own name. */
    public static ModelConfig of(String upstream) {
        return DefaultValues.with(DEFAULT, "upstream", upstream);
    }

    /** A model that is routed to several targets. */
    public static ModelConfig of(List<TargetConfig> targets) {
        return DefaultValues.with(DEFAULT, "targets", targets);
    }

    /** The targets, including the single target of a model with {@code upstream}. */
    public List<TargetConfig> allTargets() {
        return upstream == null ? targets : List.of(new TargetConfig(upstream, upstream, model, version, 1));
    }

    @Doc("A model of an upstream that takes a share of the calls.")
    public record TargetConfig(
            @Doc("Name in rules, ramps and metrics; default: the upstream's name.") @Nullable
            String name,

            @Doc("The upstream.") @Required String upstream,

            @Doc("Name of the model on that upstream, if it differs.") @Nullable
            String model,

            @Doc("Version that is called.") @Nullable String version,

            @Doc("Share of calls, relative to the sum of all weights.") @Range(max = 1_000_000) @Default("1")
            int weight) {
        /** Its name in configuration, metrics and logs. */
        public String label() {
            return name == null ? upstream : name;
        }
    }

    @Doc("Calls whose headers and request parameters have all these values go to the target.")
    public record RuleConfig(
            @Doc("Values by header name: exact, a prefix with * after it, or * for any.") @HeaderName
            Map<String, String> headers,

            @Doc("Values by request parameter, in the same form.")
            Map<String, String> parameters,

            @Doc("The name of a target.") @Required String target) {}

    @Doc("A header or a request parameter.")
    public record RequestKey(
            @Doc("Name of a header.") @HeaderName @Nullable String header,

            @Doc("Name of a request parameter.") @Nullable String parameter) {}

    @Doc("A target that gets copies of calls.")
    public record ShadowConfig(
            @Doc("Name in metrics; default: the upstream's name.") @Nullable
            String name,

            @Doc("The upstream.") @Required String upstream,

            @Doc("Name of the model on that upstream, if it differs.") @Nullable
            String model,

            @Doc("Version that is called.") @Nullable String version,

            @Doc("Share of calls that is copied.") @Share @Default("100%")
            double sample,

            @Doc("Whether its tensors are compared with those of the client's response.")
            boolean compare,

            @Doc(
                    "Relative tolerance of floating-point elements: they are equal if they differ by at most atol + rtol * "
                            + "the client's element. 0: none.")
            @Range(max = 1_000_000_000)
            @Default("1e-5")
            double rtol,

            @Doc("Absolute tolerance of floating-point elements.") @Range(max = 1_000_000_000) @Default("1e-8")
            double atol,

            @Doc("Timeout of a copy.") @Default("5s") Duration timeout,

            @Doc("Maximum number of concurrent copies; more are dropped.") @Range(min = 1, max = 10_000) @Default("16")
            int maxInFlight) {
        /** Its name in configuration, metrics and logs. */
        public String label() {
            return name == null ? upstream : name;
        }
    }

    @Doc("Raises the share of one target step by step, and rolls back to 0 if it performs worse than the others.")
    public record RampConfig(
            @Doc("The name of the target.") @Required String target,

            @Doc("Shares, one after the other.") @Share @NotEmpty @Default({"1%", "5%", "25%", "50%", "100%"})
            List<Double> steps,

            @Doc("Minimum time of a step.") @Default("5m") Duration interval,

            @Doc("Minimum number of calls that the target must answer in a step.")
            @Range(min = 1, max = 100_000_000)
            @Default("100")
            int minimumRequests,

            @Doc("Largest share of its calls that may fail.") @Share @Default("1%")
            double maxErrorRate,

            @Doc("Largest ratio of its 95th percentile of latency to that of the other targets. 0: no limit.")
            @Range(max = 1000)
            @Default("1.5")
            double maxLatencyRatio,

            @Doc("Largest absolute difference in the comparisons of a shadow with this target's name. None: no limit.")
            @Nullable
            @Range(max = 1_000_000_000)
            Double maxDifference) {}

    @Doc("A target that takes over when others fail.")
    public record Fallback(
            @Doc("The upstream.") @Required String upstream,

            @Doc("Name of the model on that upstream, if it differs.") @Nullable
            String model,

            @Doc("Version that is called.") @Nullable String version) {}

    @Doc("A rate limit on requests and bytes, for each value of a header, for each caller, or for all calls.")
    public record Rate(
            @Doc("Header whose values are limited separately. None: all calls of the model together.")
            @HeaderName
            @Nullable
            String header,

            @Doc("Whether each authenticated caller is limited separately; all others together.")
            boolean principal,

            @Doc("Requests per second. 0: no limit.") @Range(max = 1_000_000_000) @Default("0")
            int requestsPerSecond,

            @Doc("Bytes of request bodies per second. None: no limit.") @Size @Nullable
            Integer bytesPerSecond,

            @Doc("Bucket size, in seconds of the rate.") @Default("1s")
            Duration burst) {}

    /** What happens to the version that a call names. */
    public enum ExplicitVersion {
        HONOR,
        OVERRIDE
    }

    /** How many of a model's replicas must be ready. */
    public enum ReadyPolicy {
        /** At least one. */
        ANY,
        /** All. */
        ALL,
        /** More than half. */
        QUORUM
    }
}
