package dev.isthmus.gateway.settings;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** One model, or all whose names match a pattern: where its calls go. */
@Doc(
        "Where the calls of a model go. The name is exact or a pattern with * in it; exact ones come first, then longer ones.")
public record ModelConfig(
        @Doc("The upstream, where there is one target.") @Nullable
        String upstream,

        @Doc("The model's name there, if it is another.") @Nullable
        String model,

        @Doc("The version that is asked for. Calls that name another one go to other targets, or are refused.")
        @Nullable
        String version,

        @Doc("Several targets with weights, instead of upstream, model and version.")
        List<TargetConfig> targets,

        @Doc("Further names of the model.") List<String> aliases,

        @Doc("Labels that clients may ask for in place of a version.")
        Map<String, String> versions,

        @Doc("The version or label for clients that name none; by default the server chooses, its latest as a rule.")
        @Nullable
        String defaultVersion,

        @Doc(
                "What holds for a call that names a version itself, and not a label. honor: it is served by that version, or"
                        + " refused with 404; override: a target's version is asked for instead, by weights and rules.")
        ExplicitVersion explicitVersion,

        @Doc("Calls that match go to a target of their own; the first rule that matches counts.")
        List<RuleConfig> rules,

        @Doc("What keeps a client on one target and one server: the hash of a header or of a request parameter.")
        @Nullable
        RequestKey sticky,

        @Doc("Targets that get a copy of the traffic, whose answers nobody gets.")
        List<ShadowConfig> shadow,

        @Doc("Raises the weight of one target step by step, and takes it back where it does worse.") @Nullable
        RampConfig ramp,

        @Doc("Takes calls that failed as a fleet fails: unreachable, timed out, 503.") @Nullable
        Fallback fallback,

        @Doc("Limits on what clients may ask.") List<Rate> rates,

        @Doc("Of one call with all its tries, where the client gives no deadline.") @Nullable
        Duration timeout,

        @Doc("How many replicas must be ready for the model to be; default is health.model_ready.") @Nullable
        ReadyPolicy ready) {

    /** Nothing but defaults. */
    public static final ModelConfig DEFAULT = new ModelConfig(
            null,
            null,
            null,
            List.of(),
            List.of(),
            Map.of(),
            null,
            ExplicitVersion.HONOR,
            List.of(),
            null,
            List.of(),
            null,
            null,
            List.of(),
            null,
            null);

    public ModelConfig {
        targets = List.copyOf(targets);
        aliases = List.copyOf(aliases);
        versions = Map.copyOf(versions);
        rules = List.copyOf(rules);
        shadow = List.copyOf(shadow);
        rates = List.copyOf(rates);
    }

    /** A model that goes to one upstream under its own name. */
    public static ModelConfig of(String upstream) {
        return new ModelConfig(
                upstream,
                null,
                null,
                List.of(),
                List.of(),
                Map.of(),
                null,
                ExplicitVersion.HONOR,
                List.of(),
                null,
                List.of(),
                null,
                null,
                List.of(),
                null,
                null);
    }

    /** The targets, also where there is but one. */
    public List<TargetConfig> allTargets() {
        return upstream == null ? targets : List.of(new TargetConfig(upstream, upstream, model, version, 1));
    }

    /** The targets that may serve a version which a call names itself: those that have it, or else those that have none. */
    public List<TargetConfig> serving(String named) {
        if (explicitVersion == ExplicitVersion.OVERRIDE) {
            return allTargets();
        }
        List<TargetConfig> exact = allTargets().stream()
                .filter(target -> named.equals(target.version()))
                .toList();
        return exact.isEmpty()
                ? allTargets().stream()
                        .filter(target -> target.version() == null)
                        .toList()
                : exact;
    }

    /** A model of an upstream that takes a share of the calls. */
    @Doc("A model of an upstream that takes a share of the calls.")
    public record TargetConfig(
            @Doc("What rules, ramps and metrics call it; default is the upstream's name.") @Nullable
            String name,

            @Doc("The upstream.") @Required String upstream,

            @Doc("The model's name there, if it is another.") @Nullable
            String model,

            @Doc("The version that is asked for. Calls that name another one go to other targets, or are refused.")
            @Nullable
            String version,

            @Doc("Its share of the calls is its weight among all weights.") @Range(max = 1_000_000)
            int weight) {
        /** All that has a default; without an upstream. */
        public static final TargetConfig DEFAULT = new TargetConfig(null, "", null, null, 1);

        /** What it is called. */
        public String label() {
            return name == null ? upstream : name;
        }
    }

    /** Which calls go to one target. All that is named must match. */
    @Doc("Calls whose headers and request parameters have all these values go to the target.")
    public record RuleConfig(
            @Doc("Values by header: exact, a beginning with * after it, or * for any.") @HeaderName
            Map<String, String> headers,

            @Doc("Values by request parameter, in the same way.")
            Map<String, String> parameters,

            @Doc("The name of a target.") @Required String target) {
        /** All that has a default; without a target. */
        public static final RuleConfig DEFAULT = new RuleConfig(Map.of(), Map.of(), "");

        public RuleConfig {
            headers = Map.copyOf(headers);
            parameters = Map.copyOf(parameters);
        }

        /** Whether all that is named has its value; both look-ups give null for what a call does not have. */
        public boolean matches(
                Function<String, @Nullable String> header, Function<String, @Nullable String> parameter) {
            return headers.entrySet().stream().allMatch(each -> fits(each.getValue(), header.apply(each.getKey())))
                    && parameters.entrySet().stream()
                            .allMatch(each -> fits(each.getValue(), parameter.apply(each.getKey())));
        }

        private static boolean fits(String wanted, @Nullable String got) {
            return got != null
                    && (wanted.endsWith("*")
                            ? got.startsWith(wanted.substring(0, wanted.length() - 1))
                            : got.equals(wanted));
        }
    }

    /** A value of a request: one of the two is named. */
    @Doc("A header or a request parameter.")
    public record RequestKey(
            @Doc("Name of a header.") @HeaderName @Nullable String header,

            @Doc("Name of a request parameter.") @Nullable String parameter) {
        /** Nothing named. */
        public static final RequestKey DEFAULT = new RequestKey(null, null);
    }

    /** A target that gets a copy of the traffic. */
    @Doc("A target that gets a copy of the traffic.")
    public record ShadowConfig(
            @Doc("What metrics call it; default is the upstream's name.") @Nullable
            String name,

            @Doc("The upstream.") @Required String upstream,

            @Doc("The model's name there, if it is another.") @Nullable
            String model,

            @Doc("The version that is asked for.") @Nullable String version,

            @Doc("The share of calls that is copied.") @Share
            double sample,

            @Doc("Whether its tensors are compared with the main answer's.")
            boolean compare,

            @Doc("Of the copied call.") Duration timeout,

            @Doc("Copied calls under way at once; more are left out.") @Range(min = 1, max = 10_000)
            int maxInFlight) {
        /** All that has a default; without an upstream. */
        public static final ShadowConfig DEFAULT =
                new ShadowConfig(null, "", null, null, 1, false, Duration.ofSeconds(5), 16);

        /** What it is called. */
        public String label() {
            return name == null ? upstream : name;
        }
    }

    /** A guarded ramp. */
    @Doc(
            "Raises the share of one target step by step, and takes it back to nothing where it does worse than the others.")
    public record RampConfig(
            @Doc("The name of the target.") @Required String target,

            @Doc("The shares, one after the other.") @Share @NotEmpty
            List<Double> steps,

            @Doc("How long each step lasts at least.") Duration interval,

            @Doc("Calls that the target must have answered before the next step.") @Range(min = 1, max = 100_000_000)
            int minimumRequests,

            @Doc("The share of its calls that may fail.") @Share
            double maxErrorRate,

            @Doc("How many times as long as the others' its 95th percentile of latency may be; 0: any.")
            @Range(max = 1000)
            double maxLatencyRatio,

            @Doc(
                    "The largest absolute difference that a shadow's comparison with this target's name may show; none: any.")
            @Nullable
            @Range(max = 1_000_000_000)
            Double maxDifference) {
        /** All that has a default; without a target. */
        public static final RampConfig DEFAULT =
                new RampConfig("", List.of(0.01, 0.05, 0.25, 0.5, 1.0), Duration.ofMinutes(5), 100, 0.01, 1.5, null);

        public RampConfig {
            steps = List.copyOf(steps);
        }
    }

    /** What takes over. */
    @Doc("A target that takes over.")
    public record Fallback(
            @Doc("The upstream.") @Required String upstream,

            @Doc("The model's name there, if it is another.") @Nullable
            String model,

            @Doc("The version that is asked for.") @Nullable String version) {
        /** All that has a default; without an upstream. */
        public static final Fallback DEFAULT = new Fallback("", null, null);
    }

    /** A limit on requests and bytes in a time. */
    @Doc("A limit on requests and bytes, for each value of a header or for all.")
    public record Rate(
            @Doc("The header whose values are limited each; none: all calls of the model together.")
            @HeaderName
            @Nullable
            String header,

            @Doc("Requests a second; 0: any.") @Range(max = 1_000_000_000)
            int requestsPerSecond,

            @Doc("Bytes of request bodies a second; none: any.") @Size @Nullable
            Integer bytesPerSecond,

            @Doc("As much as comes in this time may come at once.")
            Duration burst) {
        /** No limit. */
        public static final Rate DEFAULT = new Rate(null, 0, null, Duration.ofSeconds(1));
    }

    /** What holds for a call that names a version itself. */
    public enum ExplicitVersion {
        HONOR,
        OVERRIDE
    }

    /** How many of a model's replicas must be ready. */
    public enum ReadyPolicy {
        /** One is enough. */
        ANY,
        /** Every one. */
        ALL,
        /** More than half of them. */
        QUORUM
    }
}
