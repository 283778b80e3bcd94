package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.StickyHash;
import dev.isthmus.gateway.routing.RouteDecision.RuleResult;
import dev.isthmus.gateway.routing.RouteDecision.TargetShare;
import dev.isthmus.gateway.routing.SequencePins.SequencePin;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.ModelConfig.ExplicitVersion;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import dev.isthmus.gateway.upstream.RouteService;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of one model, or of all models that match a pattern. Immutable except for the weights of its
 * targets.
 */
public final class Route {
    private final String key;
    private final long seed;
    private final ModelConfig config;
    private final WeightedTargets split;
    private final List<RoutingRule> rules;
    private final @Nullable StickyKey sticky;
    private final List<WeightedTarget> shadows;
    private final @Nullable WeightedTarget fallback;
    private final SelectionState selectionState;
    private final List<Upstream> upstreams;
    private final boolean readsPriority;
    private final VersionRule versions;
    private List<Upstream> services;
    private boolean decodes;

    /**
     * @param name what targets without a model name of their own call the model; null for the client's name
     * @throws IllegalArgumentException for invalid targets or rules
     */
    Route(
            String key,
            @Nullable String name,
            ModelConfig config,
            Function<String, Upstream> upstreams,
            SelectionState selectionState) {
        this.key = key;
        this.seed = StickyHash.of(key);
        this.config = config;
        this.versions = VersionRule.of(config);
        Function<TargetConfig, WeightedTarget> target = each -> WeightedTarget.of(each, name, versions, upstreams);
        this.split = new WeightedTargets(config.allTargets(), target);
        this.rules =
                config.rules().stream().map(rule -> RoutingRule.of(rule, split)).toList();
        this.sticky = StickyKey.of(config.sticky());
        this.shadows = config.shadow().stream()
                .map(shadow -> target.apply(
                        new TargetConfig(shadow.label(), shadow.upstream(), shadow.model(), shadow.version(), 1)))
                .toList();
        ModelConfig.Fallback other = config.fallback();
        this.fallback = other == null
                ? null
                : target.apply(new TargetConfig("fallback", other.upstream(), other.model(), other.version(), 1));
        this.selectionState = selectionState;
        this.upstreams = Stream.concat(split.arms().stream(), Stream.ofNullable(fallback))
                .map(WeightedTarget::upstream)
                .distinct()
                .toList();
        this.readsPriority = this.upstreams.stream().anyMatch(Upstream::readsPriority);
        this.services = this.upstreams;
    }

    /** The configured name or pattern, which identifies the route in metrics and hashes. */
    public String key() {
        return key;
    }

    public ModelConfig config() {
        return config;
    }

    public WeightedTargets split() {
        return split;
    }

    /**
     * The targets that may serve the requested model, ordered by name, including those with a share of 0.
     *
     * @throws dev.isthmus.oip.OipException NOT_FOUND for a version that none of them serves
     */
    public List<Target> targets(ModelRef requested) {
        RequestedVersion version = versions.named(requested);
        return split.arms().stream()
                .filter(arm -> version == null || version.isCandidate(arm))
                .map(arm -> arm.target(requested))
                .toList();
    }

    /** The names by which the targets and the fallback know the requested model. */
    public Set<String> modelNames(ModelRef requested) {
        return Stream.concat(split.arms().stream(), Stream.ofNullable(fallback))
                .map(arm -> arm.target(requested).model().name())
                .collect(Collectors.toUnmodifiableSet());
    }

    /**
     * Whether requests can get to a model of an upstream, at least those for its version.
     *
     * @param requested the model's name for clients, and its version
     * @param name its name there
     */
    public boolean reaches(ModelRef requested, Upstream upstream, String name) {
        return Stream.concat(split.arms().stream(), Stream.ofNullable(fallback)).anyMatch(arm -> {
            ModelRef served = arm.target(requested).model();
            return arm.upstream() == upstream
                    && served.name().equals(name)
                    && (requested.version().isEmpty()
                            || served.version().isEmpty()
                            || served.version().equals(requested.version()));
        });
    }

    /** The distinct upstreams of all targets and of the fallback. */
    public List<Upstream> upstreams() {
        return upstreams;
    }

    /** Whether the order of waiting calls depends on their priority at one of these. */
    public boolean readsPriority() {
        return readsPriority;
    }

    /**
     * Sets what it does with inferences; without this, nothing. Called at most once, before the first call.
     *
     * @param list the outermost first
     */
    public void serve(List<RouteService> list) {
        split.arms().forEach(arm -> arm.serve(list));
        decodes = list.stream().anyMatch(RouteService::decodes);
        if (fallback != null) {
            fallback.serve(list.stream().filter(RouteService::servesFallback).toList());
        }
        services = split.arms().stream()
                .map(arm -> arm.service().getPlain())
                .distinct()
                .toList();
    }

    /** Whether a service decodes unary inferences, whichever server gets them. */
    public boolean decodes() {
        return decodes;
    }

    public List<Upstream> services() {
        return services;
    }

    public List<Upstream> shadowUpstreams() {
        return shadows.stream().map(WeightedTarget::upstream).toList();
    }

    /** The shadow targets, in configuration order. */
    public List<Target> shadows(ModelRef requested) {
        return shadows.stream().map(arm -> arm.target(requested)).toList();
    }

    /** The fallback for a failed target; null if there is none. */
    public @Nullable Target fallback(ModelRef requested) {
        return fallback == null || versions.excludes(fallback, requested) ? null : fallback.target(requested);
    }

    /**
     * Chooses a target for a request: by the first matching rule, its sequence, the sticky key, or else at random.
     *
     * @param stream the random choices of its stream so far; null for a unary request
     * @throws dev.isthmus.oip.OipException NOT_FOUND for a version that no target serves
     */
    public TargetSelection pick(ModelRef requested, RequestAttributes attributes, @Nullable StreamSelections stream) {
        RequestedVersion version = versions.named(requested);
        int rule = rule(attributes, version);
        WeightedTarget ruleTarget = rule < 0 ? null : rules.get(rule).arm();
        SequenceKey sequence = SequenceKey.of(attributes);
        if (sequence != null) {
            long hash = StickyHash.of(seed, sequence.id());
            return sequenceTarget(requested, version, sequence, ruleTarget, hash);
        }
        String value = sticky == null ? null : sticky.value(attributes);
        if (value != null) {
            long hash = StickyHash.of(seed, value);
            WeightedTarget arm = ruleTarget == null ? split.at(hash, version) : ruleTarget;
            return new TargetSelection(arm.target(requested), StickyHash.affinity(hash), Call.NO_SEQUENCE);
        }
        WeightedTarget arm = ruleTarget == null ? randomTarget(stream, version) : ruleTarget;
        return new TargetSelection(arm.target(requested), Call.NO_AFFINITY, Call.NO_SEQUENCE);
    }

    /**
     * Explains what {@link #pick} does with a request under the current weights. Changes nothing; a sequence is
     * treated as starting.
     *
     * @throws dev.isthmus.oip.OipException NOT_FOUND for a version that no target serves
     */
    public RouteDecision decide(ModelRef requested, RequestAttributes attributes) {
        RequestedVersion version = versions.named(requested);
        int chosen = rule(attributes, version);
        Map<String, TargetShare> shares = new HashMap<>();
        for (WeightedTarget arm : split.arms()) {
            double share = chosen < 0
                    ? split.share(arm, version)
                    : arm.equals(rules.get(chosen).arm()) ? 1 : 0;
            shares.put(arm.name(), new TargetShare(arm.target(requested), share, mayServe(arm, version)));
        }
        List<RuleResult> results = new ArrayList<>();
        for (int i = 0; i < rules.size(); i++) {
            boolean applies = applies(rules.get(i), attributes, version);
            results.add(
                    i == chosen
                            ? RuleResult.CHOSEN
                            : applies
                                    ? RuleResult.LATER
                                    : rules.get(i).matches(attributes)
                                            ? RuleResult.OTHER_VERSION
                                            : RuleResult.NO_MATCH);
        }
        SequenceKey sequence = SequenceKey.of(attributes);
        String value = sequence != null ? sequence.id() : sticky == null ? null : sticky.value(attributes);
        return new RouteDecision(
                results,
                shares,
                sequence != null,
                value,
                value == null
                        ? null
                        : split.at(StickyHash.of(seed, value), version).name(),
                shadows(requested),
                fallback(requested));
    }

    /** The version requested from targets without a version of their own; empty to let the server choose. */
    public String version(ModelRef requested) {
        return versions.of(requested);
    }

    private static boolean mayServe(WeightedTarget arm, @Nullable RequestedVersion version) {
        return version == null || version.mayBeServedBy(arm);
    }

    private static boolean applies(RoutingRule rule, RequestAttributes attributes, @Nullable RequestedVersion version) {
        return rule.matches(attributes) && mayServe(rule.arm(), version);
    }

    /** The index of the first rule that matches and whose target may serve the request; -1 for none. */
    private int rule(RequestAttributes attributes, @Nullable RequestedVersion version) {
        for (int i = 0; i < rules.size(); i++) {
            if (applies(rules.get(i), attributes, version)) {
                return i;
            }
        }
        return -1;
    }

    /** A running sequence stays on its target; one that starts is placed by the current weights. */
    private TargetSelection sequenceTarget(
            ModelRef requested,
            @Nullable RequestedVersion version,
            SequenceKey sequence,
            @Nullable WeightedTarget ruleTarget,
            long hash) {
        SequencePins pins = selectionState.pins();
        long pinKey = SequencePins.key(requested.name(), version == null ? "" : version.version(), sequence.id());
        SequencePin pin = sequence.start() ? null : pins.find(pinKey);
        WeightedTarget pinned = pin == null ? null : split.at(pin.destination());
        WeightedTarget arm = ruleTarget != null ? ruleTarget : pinned != null ? pinned : split.at(hash, version);
        if (pin == null || !arm.destination().equals(pin.destination())) {
            pin = pins.pin(pinKey, arm.destination(), sequence.start());
        }
        if (sequence.end()) {
            pins.forget(pinKey);
        }
        return new TargetSelection(arm.target(requested), StickyHash.affinity(hash), pin.beganNanos());
    }

    private WeightedTarget randomTarget(@Nullable StreamSelections stream, @Nullable RequestedVersion version) {
        if (split.arms().size() == 1) {
            return split.arms().getFirst();
        }
        return stream == null
                ? split.at(selectionState.random().nextLong(), version)
                : stream.arm(key, split, version, selectionState.random());
    }

    /**
     * The target chosen for one request.
     *
     * @param affinity requests of equal affinity belong on one server of the target; {@link Call#NO_AFFINITY} for any
     * @param sequenceNanos when its sequence began, as {@link Call#sequenceNanos}
     */
    public record TargetSelection(Target target, long affinity, long sequenceNanos) {}

    /** Sends requests that meet every condition to one target. */
    record RoutingRule(List<Condition> conditions, WeightedTarget arm) {

        /** @throws IllegalArgumentException if the rule names no target of the route */
        static RoutingRule of(ModelConfig.RuleConfig config, WeightedTargets split) {
            WeightedTarget arm = split.named(config.target());
            if (arm == null) {
                throw new IllegalArgumentException(
                        "unknown target '" + config.target() + "' in a rule, expected one of " + split.names());
            }
            List<Condition> conditions = new ArrayList<>();
            config.headers()
                    .forEach((name, value) ->
                            conditions.add(new Condition(true, name.toLowerCase(Locale.ROOT), ValuePattern.of(value))));
            config.parameters()
                    .forEach((name, value) -> conditions.add(new Condition(false, name, ValuePattern.of(value))));
            return new RoutingRule(List.copyOf(conditions), arm);
        }

        boolean matches(RequestAttributes attributes) {
            for (Condition condition : conditions) {
                if (!condition.holds(attributes)) {
                    return false;
                }
            }
            return true;
        }

        /** @param header whether it tests a header, rather than a parameter */
        private record Condition(boolean header, String name, ValuePattern value) {
            boolean holds(RequestAttributes attributes) {
                return value.matches(header ? attributes.header(name) : attributes.parameter(name));
            }
        }

        /** @param prefix whether it is a prefix */
        private record ValuePattern(String text, boolean prefix) {
            static ValuePattern of(String pattern) {
                return pattern.endsWith("*")
                        ? new ValuePattern(pattern.substring(0, pattern.length() - 1), true)
                        : new ValuePattern(pattern, false);
            }

            boolean matches(@Nullable String value) {
                return value != null && (prefix ? value.startsWith(text) : value.equals(text));
            }
        }
    }

    /** The sequence that a request belongs to: the server keeps state from one of its requests to the next. */
    record SequenceKey(String id, boolean start, boolean end) {
        private static final String ID = "sequence_id";

        /** The request's sequence; null if it belongs to none: ids of 0 and empty ids are none. */
        static @Nullable SequenceKey of(RequestAttributes attributes) {
            Parameter id = attributes.parameters().get(ID);
            String text = id == null || !names(id) ? null : attributes.parameter(ID);
            return text == null
                    ? null
                    : new SequenceKey(text, attributes.isTrue("sequence_start"), attributes.isTrue("sequence_end"));
        }

        private static boolean names(Parameter id) {
            return switch (id) {
                case Parameter.Int64 number -> number.value() != 0;
                case Parameter.Uint64 number -> number.value() != 0;
                case Parameter.Text text -> !text.value().isEmpty();
                case Parameter.Bool flag -> false;
                case Parameter.Float64 number -> false;
                case Parameter.Json json -> false;
            };
        }
    }

    /** The header or request parameter that keeps a client on one target and server. */
    record StickyKey(boolean header, String name) {

        static @Nullable StickyKey of(ModelConfig.@Nullable RequestKey key) {
            if (key == null) {
                return null;
            }
            return key.header() == null
                    ? new StickyKey(false, Objects.requireNonNull(key.parameter()))
                    : new StickyKey(true, key.header().toLowerCase(Locale.ROOT));
        }

        /** The key's value in a request; null if it is absent or empty. */
        @Nullable
        String value(RequestAttributes attributes) {
            String value = header ? attributes.header(name) : attributes.parameter(name);
            return value == null || value.isEmpty() ? null : value;
        }
    }

    /**
     * Which version a request means, and which targets of a route may serve a version that it names.
     *
     * @param labels versions by the labels that clients may use for them
     * @param unnamed the version if the client names none; empty lets the server choose
     * @param holds whether an explicit version is binding; otherwise a target's version replaces it
     * @param versions of the targets that have one
     * @param open whether there are targets without a version
     */
    record VersionRule(Map<String, String> labels, String unnamed, boolean holds, Set<String> versions, boolean open) {
        private static final String LATEST = "latest";

        static VersionRule of(ModelConfig config) {
            Set<String> versions = new TreeSet<>();
            boolean open = false;
            for (TargetConfig target : config.allTargets()) {
                if (target.version() == null) {
                    open = true;
                } else {
                    versions.add(target.version());
                }
            }
            String named = config.defaultVersion() == null ? "" : config.defaultVersion();
            String unnamed = config.versions().getOrDefault(named, named.equals(LATEST) ? "" : named);
            boolean holds = config.explicitVersion() == ExplicitVersion.HONOR;
            return new VersionRule(config.versions(), unnamed, holds, versions, open);
        }

        /** The version to request from a target without one of its own; empty to let the server choose. */
        String of(ModelRef requested) {
            return requested.version().isEmpty() ? unnamed : explicit(requested);
        }

        /** The version that a client names, itself or by a label; empty if it names none. */
        private String explicit(ModelRef requested) {
            return labels.getOrDefault(requested.version(), requested.version());
        }

        /**
         * The explicit version of a request, by itself or by a label, if targets have versions of their own; null if any
         * target may serve it.
         *
         * @throws OipException NOT_FOUND for a version that no target serves
         */
        @Nullable
        RequestedVersion named(ModelRef requested) {
            String version = explicit(requested);
            if (!holds || versions.isEmpty() || version.isEmpty()) {
                return null;
            }
            if (versions.contains(version)) {
                return new RequestedVersion(version, version);
            }
            if (!open) {
                throw new OipException(
                        ErrorCode.NOT_FOUND,
                        "model '" + requested.name() + "' has no version '" + version + "', expected one of "
                                + versions);
            }
            return new RequestedVersion(version, null);
        }

        /** Whether a target serves another version than the explicit one. */
        boolean excludes(WeightedTarget arm, ModelRef requested) {
            String version = explicit(requested);
            return holds
                    && arm.version() != null
                    && !version.isEmpty()
                    && !arm.version().equals(version);
        }
    }

    /**
     * The targets chosen at random for one stream of requests: a stream keeps them, so that its requests to a model stay in
     * order on one server. A target whose share has become 0 is replaced. Used on the stream's event loop; bounded by the
     * size of the configuration.
     */
    public static final class StreamSelections {
        private final Map<String, String> armByRoute = new HashMap<>();

        WeightedTarget arm(
                String route, WeightedTargets split, @Nullable RequestedVersion version, RandomGenerator random) {
            // Clients choose versions, but not those of the targets.
            String key = version == null ? route : route + '\n' + Objects.requireNonNullElse(version.pin(), "");
            String name = armByRoute.get(key);
            WeightedTarget previous = name == null ? null : split.named(name);
            if (previous != null && split.keeps(previous, version)) {
                return previous;
            }
            WeightedTarget arm = split.at(random.nextLong(), version);
            armByRoute.put(key, arm.name());
            return arm;
        }
    }
}
