package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.routing.RouteDecision.RuleResult;
import dev.isthmus.gateway.routing.RouteDecision.TargetShare;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** All that is configured for one model, or for all models of a pattern. Immutable but for the shares of its split. */
public final class Route {
    private final String key;
    private final long seed;
    private final ModelConfig config;
    private final WeightedTargets split;
    private final List<RoutingRule> rules;
    private final @Nullable StickyKey sticky;
    private final List<WeightedTarget> shadows;
    private final @Nullable WeightedTarget fallback;
    private final SelectionState choices;
    private final boolean needsParameters;
    private final List<Upstream> upstreams;
    private final VersionRule versions;

    /**
     * @param name what targets without a name of their own call the model; null for the client's name
     * @throws IllegalArgumentException for targets or rules that cannot be
     */
    Route(
            String key,
            @Nullable String name,
            ModelConfig config,
            Function<String, Upstream> upstreams,
            SelectionState choices) {
        UpstreamModelName naming = UpstreamModelName.of(name, config);
        this.key = key;
        this.seed = StickyHash.of(key);
        this.config = config;
        this.split = new WeightedTargets(config.allTargets(), target -> WeightedTarget.of(target, upstreams, naming));
        this.rules =
                config.rules().stream().map(rule -> RoutingRule.of(rule, split)).toList();
        this.sticky = StickyKey.of(config.sticky());
        this.shadows = config.shadow().stream()
                .map(shadow -> WeightedTarget.of(shadow, upstreams, naming))
                .toList();
        this.fallback = config.fallback() == null ? null : WeightedTarget.of(config.fallback(), upstreams, naming);
        this.choices = choices;
        this.needsParameters =
                (sticky != null && !sticky.header()) || rules.stream().anyMatch(RoutingRule::needsParameters);
        this.versions = VersionRule.of(config, naming, split.arms());
        this.upstreams = Stream.concat(split.arms().stream(), Stream.ofNullable(fallback))
                .map(WeightedTarget::upstream)
                .distinct()
                .toList();
    }

    /** The configured name or pattern: what metrics and hashes know the route by. */
    public String key() {
        return key;
    }

    /** What is configured. */
    public ModelConfig config() {
        return config;
    }

    /** The shares of the targets. */
    public WeightedTargets split() {
        return split;
    }

    /**
     * Whether rules or the sticky key look at request parameters. Where they do not, parameters are still what says that a
     * request is one of a sequence.
     */
    public boolean needsParameters() {
        return needsParameters;
    }

    /**
     * The targets that may serve what a client asks, in the order of their names, those without a share among them.
     *
     * @throws dev.isthmus.oip.OipException NOT_FOUND for a version that none of them serves
     */
    public List<Target> targets(ModelRef asked) {
        RequestedVersion named = versions.named(asked);
        return split.arms().stream()
                .filter(arm -> named == null || named.isAmong(arm))
                .map(arm -> arm.target(asked))
                .toList();
    }

    /** The upstreams of all targets and of the fallback, each once. */
    public List<Upstream> upstreams() {
        return upstreams;
    }

    /** The upstreams of copied traffic. */
    public List<Upstream> shadowUpstreams() {
        return shadows.isEmpty()
                ? List.of()
                : shadows.stream().map(WeightedTarget::upstream).toList();
    }

    /** The targets of copied traffic, in the order of the configuration. */
    public List<Target> shadows(ModelRef asked) {
        return shadows.isEmpty()
                ? List.of()
                : shadows.stream().map(arm -> arm.target(asked)).toList();
    }

    /** What takes over from a target that failed; null where nothing does. */
    public @Nullable Target fallback(ModelRef asked) {
        return fallback == null || versions.excludes(fallback, asked) ? null : fallback.target(asked);
    }

    /**
     * Chooses for a request on its own: by the first rule that matches, its sequence, the sticky key, or else by chance.
     *
     * @throws dev.isthmus.oip.OipException NOT_FOUND for a version that no target serves
     */
    public TargetSelection pick(ModelRef asked, RequestAttributes attributes) {
        return pick(asked, attributes, null);
    }

    /**
     * Chooses for a request.
     *
     * @param stream what its stream has been given by chance; null for a request on its own
     * @throws dev.isthmus.oip.OipException NOT_FOUND for a version that no target serves
     */
    public TargetSelection pick(ModelRef asked, RequestAttributes attributes, @Nullable StreamSelections stream) {
        RequestedVersion named = versions.named(asked);
        int rule = rule(attributes, named);
        WeightedTarget ruled = rule < 0 ? null : rules.get(rule).arm();
        SequenceKey sequence = SequenceKey.of(attributes);
        if (sequence != null) {
            long hash = StickyHash.of(seed, sequence.id());
            WeightedTarget arm = sequenceArm(asked, named, sequence, ruled, hash);
            return new TargetSelection(arm.target(asked), StickyHash.affinity(hash), true);
        }
        String value = sticky == null ? null : sticky.value(attributes);
        if (value != null) {
            long hash = StickyHash.of(seed, value);
            WeightedTarget arm = ruled == null ? split.at(hash, named) : ruled;
            return new TargetSelection(arm.target(asked), StickyHash.affinity(hash), false);
        }
        WeightedTarget arm = ruled == null ? chance(stream, named) : ruled;
        return new TargetSelection(arm.target(asked), Call.NO_AFFINITY, false);
    }

    /**
     * Says what {@link #pick} does with calls like this, by the shares of now, and why. Changes nothing; a sequence counts as
     * one that begins.
     *
     * @throws dev.isthmus.oip.OipException NOT_FOUND for a version that no target serves
     */
    public RouteDecision decide(ModelRef asked, RequestAttributes attributes) {
        RequestedVersion named = versions.named(asked);
        int chosen = rule(attributes, named);
        Map<String, TargetShare> shares = new HashMap<>();
        for (WeightedTarget arm : split.arms()) {
            double share = chosen < 0
                    ? split.share(arm, named)
                    : arm.equals(rules.get(chosen).arm()) ? 1 : 0;
            shares.put(arm.name(), new TargetShare(arm.target(asked), share, mayServe(arm, named)));
        }
        List<RuleResult> results = new ArrayList<>();
        for (int i = 0; i < rules.size(); i++) {
            boolean takes = takes(rules.get(i), attributes, named);
            results.add(
                    i == chosen
                            ? RuleResult.CHOSEN
                            : takes
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
                        : split.at(StickyHash.of(seed, value), named).name(),
                shadows(asked),
                fallback(asked));
    }

    /** The version that targets without one of their own are asked for; empty where the server chooses. */
    public String version(ModelRef asked) {
        return versions.naming().of(asked, null, null).version();
    }

    private static boolean mayServe(WeightedTarget arm, @Nullable RequestedVersion named) {
        return named == null || named.mayBeServedBy(arm);
    }

    private static boolean takes(RoutingRule rule, RequestAttributes attributes, @Nullable RequestedVersion named) {
        return rule.matches(attributes) && mayServe(rule.arm(), named);
    }

    /** The index of the first rule that matches and whose target may serve the call; -1 for none. */
    private int rule(RequestAttributes attributes, @Nullable RequestedVersion named) {
        for (int i = 0; i < rules.size(); i++) {
            if (takes(rules.get(i), attributes, named)) {
                return i;
            }
        }
        return -1;
    }

    /** A running sequence stays where it is; one that starts goes where the weights of now send it. */
    private WeightedTarget sequenceArm(
            ModelRef asked,
            @Nullable RequestedVersion named,
            SequenceKey sequence,
            @Nullable WeightedTarget ruled,
            long hash) {
        SequencePins pins = choices.pins();
        long pin = SequencePins.key(asked.name(), named == null ? "" : named.version(), sequence.id());
        WeightedTarget.TargetFactory place = sequence.start() ? null : pins.find(pin);
        WeightedTarget pinned = place == null ? null : split.at(place);
        if (pinned != null && named != null && !named.mayBeServedBy(pinned)) {
            pinned = null;
        }
        WeightedTarget arm = ruled != null ? ruled : pinned != null ? pinned : split.at(hash, named);
        if (sequence.end()) {
            pins.forget(pin);
        } else if (!arm.place().equals(place)) {
            pins.remember(pin, arm.place());
        }
        return arm;
    }

    private WeightedTarget chance(@Nullable StreamSelections stream, @Nullable RequestedVersion named) {
        return stream == null
                ? split.at(choices.random().nextLong(), named)
                : stream.arm(key, split, named, choices.random());
    }
}
