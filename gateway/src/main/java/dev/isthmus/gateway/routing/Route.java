package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.config.ModelConfig;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** All that is configured for one model, or for all models of a pattern. Immutable but for the shares of its split. */
public final class Route {
    private final String key;
    private final long seed;
    private final ModelConfig config;
    private final Split split;
    private final List<Rule> rules;
    private final @Nullable StickyKey sticky;
    private final List<Arm> shadows;
    private final @Nullable Arm fallback;
    private final Choices choices;
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
            Choices choices) {
        Naming naming = Naming.of(name, config);
        this.key = key;
        this.seed = Hash.of(key);
        this.config = config;
        this.split = new Split(config.allTargets(), target -> Arm.of(target, upstreams, naming));
        this.rules = config.rules().stream().map(rule -> Rule.of(rule, split)).toList();
        this.sticky = StickyKey.of(config.sticky());
        this.shadows = config.shadow().stream()
                .map(shadow -> Arm.of(shadow, upstreams, naming))
                .toList();
        this.fallback = config.fallback() == null ? null : Arm.of(config.fallback(), upstreams, naming);
        this.choices = choices;
        this.needsParameters =
                (sticky != null && !sticky.header()) || rules.stream().anyMatch(Rule::needsParameters);
        this.versions = VersionRule.of(config, naming, split.arms());
        this.upstreams = Stream.concat(split.arms().stream(), Stream.ofNullable(fallback))
                .map(Arm::upstream)
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
    public Split split() {
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
        NamedVersion named = versions.named(asked);
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
                : shadows.stream().map(Arm::upstream).toList();
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
    public Pick pick(ModelRef asked, Attributes attributes) {
        return pick(asked, attributes, null);
    }

    /**
     * Chooses for a request.
     *
     * @param stream what its stream has been given by chance; null for a request on its own
     * @throws dev.isthmus.oip.OipException NOT_FOUND for a version that no target serves
     */
    public Pick pick(ModelRef asked, Attributes attributes, @Nullable Picks stream) {
        NamedVersion named = versions.named(asked);
        Arm ruled = ruled(attributes, named);
        Sequence sequence = Sequence.of(attributes);
        if (sequence != null) {
            long hash = Hash.of(seed, sequence.id());
            Arm arm = sequenceArm(asked, named, sequence, ruled, hash);
            return new Pick(arm.target(asked), Hash.affinity(hash), true);
        }
        String value = sticky == null ? null : sticky.value(attributes);
        if (value != null) {
            long hash = Hash.of(seed, value);
            Arm arm = ruled == null ? split.at(hash, named) : ruled;
            return new Pick(arm.target(asked), Hash.affinity(hash), false);
        }
        Arm arm = ruled == null ? chance(stream, named) : ruled;
        return new Pick(arm.target(asked), Call.NO_AFFINITY, false);
    }

    private @Nullable Arm ruled(Attributes attributes, @Nullable NamedVersion named) {
        for (Rule rule : rules) {
            if (rule.matches(attributes) && (named == null || named.mayBeServedBy(rule.arm()))) {
                return rule.arm();
            }
        }
        return null;
    }

    /** A running sequence stays where it is; one that starts goes where the weights of now send it. */
    private Arm sequenceArm(
            ModelRef asked, @Nullable NamedVersion named, Sequence sequence, @Nullable Arm ruled, long hash) {
        SequencePins pins = choices.pins();
        long pin = SequencePins.key(asked.name(), named == null ? "" : named.version(), sequence.id());
        Arm.Place place = sequence.start() ? null : pins.find(pin);
        Arm pinned = place == null ? null : split.at(place);
        if (pinned != null && named != null && !named.mayBeServedBy(pinned)) {
            pinned = null;
        }
        Arm arm = ruled != null ? ruled : pinned != null ? pinned : split.at(hash, named);
        if (sequence.end()) {
            pins.forget(pin);
        } else if (!arm.place().equals(place)) {
            pins.remember(pin, arm.place());
        }
        return arm;
    }

    private Arm chance(@Nullable Picks stream, @Nullable NamedVersion named) {
        return stream == null
                ? split.at(choices.random().nextLong(), named)
                : stream.arm(key, split, named, choices.random());
    }
}
