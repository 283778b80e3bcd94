package dev.isthmus.gateway.explain;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.routing.RequestAttributes;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RouteDecision;
import dev.isthmus.gateway.routing.RouteDecision.TargetShare;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.SelectionState;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.settings.BatchingConfig;
import dev.isthmus.gateway.settings.CacheConfig;
import dev.isthmus.gateway.settings.DiscoverConfig.KServeConfig;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.ModelConfig.RampConfig;
import dev.isthmus.gateway.settings.ModelConfig.RuleConfig;
import dev.isthmus.gateway.settings.ModelConfig.ShadowConfig;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import dev.isthmus.gateway.settings.ModelNames.Match;
import dev.isthmus.gateway.settings.ModelNames.MatchKind;
import dev.isthmus.gateway.settings.SharedConfig;
import dev.isthmus.gateway.settings.Units;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.message.ServerFeatures;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Explains in text how a call would be routed, from the configuration alone. */
public final class RouteExplanation {
    private final GatewayConfig config;
    private final ExplainedCall call;
    private final ModelRef requested;
    private final RoutingTable routes;
    private final List<String> lines = new ArrayList<>();
    private final List<ExplainedTarget> targets = new ArrayList<>();
    private final Set<String> upstreams = new LinkedHashSet<>();

    /**
     * A call.
     *
     * @param model the name that the client requests
     * @param headers by lower-case name
     */
    public record ExplainedCall(
            String model, @Nullable String version, Map<String, String> headers, Map<String, String> parameters) {

        public ModelRef requested() {
            return new ModelRef(model, version == null ? "" : version);
        }

        RequestAttributes attributes() {
            Map<String, Parameter> typed = new HashMap<>();
            parameters.forEach((name, value) -> typed.put(name, parameter(value)));
            return new RequestAttributes(headers::get, typed, "");
        }

        /** As a client would send it: integers as numbers. */
        private static Parameter parameter(String value) {
            return value.matches("0|-?[1-9][0-9]{0,17}")
                    ? new Parameter.Int64(Long.parseLong(value))
                    : new Parameter.Text(value);
        }
    }

    /**
     * A target that serves the version of the call.
     *
     * @param share of the calls like this one that go there, 0 to 1
     * @param upstream its name
     * @param model the name of the model there
     * @param version empty if the server chooses
     */
    public record ExplainedTarget(String name, double share, String upstream, String model, String version) {}

    /** @param config the configuration that is explained */
    public RouteExplanation(GatewayConfig config, ExplainedCall call) {
        this.config = config;
        this.call = call;
        this.requested = call.requested();
        String defaultUpstream = config.defaultUpstream();
        this.routes = new RoutingTable(
                config.models(),
                UnconnectedUpstream::new,
                defaultUpstream == null ? null : new UnconnectedUpstream(defaultUpstream),
                Map::of,
                SelectionState.of(System::nanoTime));
    }

    /** The lines; empty for an unknown model. */
    public List<String> lines() {
        Optional<Match> match = routes.match(call.model());
        if (match.isEmpty() || match.get().by() == MatchKind.PATTERN) {
            inferenceServices();
        }
        if (match.isPresent()) {
            configured(match.get());
        } else if (!unlisted()) {
            return List.of();
        }
        UpstreamDescription description = new UpstreamDescription(config);
        upstreams.forEach(name -> lines.addAll(description.of(name)));
        lines.add("gateway: bodies of at most "
                + Units.size(config.limits().maxBodySize()) + ", "
                + config.limits().maxRequests() + " concurrent calls; more are rejected with 503");
        lines.add("layers, the outermost first:");
        ModelConfig settings = match.map(found -> model(found.key())).orElse(ModelConfig.DEFAULT);
        LayerExplanation.of(config, settings).forEach(layer -> lines.add(layer.toString()));
        return lines.stream().map(config.references()::masked).toList();
    }

    /** The targets of a configured model, once {@link #lines} were asked for; empty for other models. */
    public List<ExplainedTarget> targets() {
        return List.copyOf(targets);
    }

    private List<String> discovering() {
        return new TreeMap<>(config.upstreams())
                .entrySet().stream()
                        .filter(each -> each.getValue().discover())
                        .map(Map.Entry::getKey)
                        .toList();
    }

    /** They take precedence over patterns. */
    private void inferenceServices() {
        List<String> namespaces =
                config.discover().kserve().stream().map(KServeConfig::namespace).toList();
        if (!namespaces.isEmpty()) {
            lines.add("discovery: an InferenceService with this name serves it, if one of these namespaces has it: "
                    + String.join(", ", namespaces));
        }
    }

    private boolean unlisted() {
        List<String> discovering = discovering();
        String defaultUpstream = config.defaultUpstream();
        if (discovering.isEmpty() && lines.isEmpty() && defaultUpstream == null) {
            return false;
        }
        boolean first = discovering.isEmpty() && lines.isEmpty();
        lines.add("model '" + call.model() + "' is not configured");
        if (!discovering.isEmpty()) {
            lines.add("discovery: the first of these upstreams whose repository index lists it serves it: "
                    + String.join(", ", discovering));
            upstreams.addAll(discovering);
        }
        if (defaultUpstream == null) {
            lines.add("otherwise it is unknown: 404");
        } else {
            lines.add((first ? "" : "otherwise ") + "default upstream '" + defaultUpstream + "' serves it");
            upstreams.add(defaultUpstream);
        }
        return true;
    }

    private void configured(Match match) {
        ModelConfig model = model(match.key());
        lines.add("model '" + call.model() + "' is "
                + switch (match.by()) {
                    case NAME -> "configured by this name";
                    case ALIAS -> "an alias of model '" + match.key() + "'";
                    case PATTERN -> "matched by the pattern '" + match.key() + "'";
                });
        Route route = routes.route(requested);
        version(model, route.version(requested));
        RouteDecision decision;
        try {
            decision = route.decide(requested, call.attributes());
        } catch (OipException unserved) {
            lines.add("no target serves version '" + requested.version() + "': 404");
            return;
        }
        rules(model, decision);
        targets(model, decision);
        hashed(model, decision);
        if (model.ramp() != null) {
            lines.add(ramp(model.ramp()));
        }
        for (int i = 0; i < model.shadow().size(); i++) {
            lines.add(shadow(model.shadow().get(i), decision.shadows().get(i)));
        }
        fallback(model, decision);
        model.rates().forEach(rate -> lines.add(rate(rate)));
        if (!model.rates().isEmpty()) {
            lines.add(sharing(config.shared()));
        }
        if (model.batching() != null) {
            lines.add(batching(model.batching()));
        }
        if (model.cache() != null) {
            lines.add(cache(model.cache(), model.deterministic()));
        }
        lines.add("timeout: "
                + (model.timeout() == null ? "the upstream's" : Units.written(model.timeout()))
                + ", unless the client sets a deadline");
    }

    private static String batching(BatchingConfig batching) {
        return "batching: requests are joined while others are under way, for at most "
                + batching.maxQueueDelayMicroseconds() + " microseconds, up to " + batching.maxBatchSize()
                + " rows and "
                + Units.size(batching.maxBytes())
                + "; known only at run time: whether the server answers a row for each row, and what it gains";
    }

    private ModelConfig model(String key) {
        return Objects.requireNonNull(config.models().get(key));
    }

    /** @param version the resolved version; empty if the server chooses */
    private void version(ModelConfig model, String version) {
        String named = requested.version().isEmpty() ? model.defaultVersion() : requested.version();
        if (named == null) {
            lines.add("version: the client names none; the server chooses, usually its latest");
            return;
        }
        lines.add("version: "
                + (requested.version().isEmpty()
                        ? "the client names none; 'default_version' is '" + named + "'"
                        : "the client asks for '" + named + "'")
                + (model.versions().containsKey(named)
                        ? ", a label of version " + version
                        : version.isEmpty() ? ": the server chooses" : ""));
    }

    private void rules(ModelConfig model, RouteDecision decision) {
        for (int i = 0; i < model.rules().size(); i++) {
            RuleConfig rule = model.rules().get(i);
            lines.add("rule: " + conditions(rule) + " -> '" + rule.target() + "': "
                    + switch (decision.rules().get(i)) {
                        case NO_MATCH -> "does not match";
                        case OTHER_VERSION -> "matches, but its target serves another version";
                        case CHOSEN -> "matches";
                        case LATER -> "matches, but an earlier rule applies";
                    });
        }
    }

    private static String conditions(RuleConfig rule) {
        List<String> conditions = new ArrayList<>();
        new TreeMap<>(rule.headers())
                .forEach((name, value) -> conditions.add("header " + name + " is '" + value + "'"));
        new TreeMap<>(rule.parameters())
                .forEach((name, value) -> conditions.add("parameter " + name + " is '" + value + "'"));
        return String.join(" and ", conditions);
    }

    private void targets(ModelConfig model, RouteDecision decision) {
        for (TargetConfig target : model.allTargets()) {
            TargetShare targetShare = Objects.requireNonNull(decision.targets().get(target.label()));
            if (!targetShare.serves()) {
                lines.add("target '" + target.label() + "': none of these calls, because it has version "
                        + target.version());
                continue;
            }
            ModelRef served = targetShare.target().model();
            UnaryOperator<String> masked = config.references()::masked;
            targets.add(new ExplainedTarget(
                    masked.apply(target.label()),
                    targetShare.share(),
                    masked.apply(target.upstream()),
                    masked.apply(served.name()),
                    masked.apply(served.version())));
            lines.add("target '" + target.label() + "': " + percent(targetShare.share()) + " of these calls -> "
                    + place(targetShare.target()));
            if (targetShare.share() > 0 || model.ramp() != null) {
                upstreams.add(target.upstream());
            }
        }
    }

    private static String percent(double share) {
        return Units.share(Math.round(share * 10_000) / 10_000.0);
    }

    private static String place(Target target) {
        String version = target.model().version();
        return "upstream '" + target.upstream().name() + "', model '"
                + target.model().name() + "', "
                + (version.isEmpty() ? "the version that the server chooses" : "version " + version);
    }

    private void hashed(ModelConfig model, RouteDecision decision) {
        ModelConfig.RequestKey sticky = model.sticky();
        if (decision.sequence()) {
            lines.add("sequence: " + hash(model, decision, " when it starts") + "; it stays there");
        } else if (sticky != null) {
            String what = sticky.header() != null ? "header " + sticky.header() : "parameter " + sticky.parameter();
            lines.add("sticky: by " + what + "; "
                    + (decision.key() != null
                            ? hash(model, decision, "")
                            : "this call has none, so "
                                    + (decision.ruled() ? "only the rule applies" : "the target is chosen at random")));
        }
    }

    private static String hash(ModelConfig model, RouteDecision decision, String when) {
        String hash = "the hash of '" + decision.key() + "' selects the ";
        return decision.ruled()
                ? hash + "server" + when + ", always the same; the rule selects the target"
                : hash + "target and the server" + when + ", always the same: '" + decision.hashed() + "'"
                        + (model.ramp() == null ? "" : " by the configured weights, which the ramp changes");
    }

    private static String ramp(RampConfig ramp) {
        List<String> steps = ramp.steps().stream().map(Units::share).toList();
        String latency = ramp.maxLatencyRatio() == 0
                ? ""
                : ", or they take " + ramp.maxLatencyRatio() + " times as long as those of the other targets";
        String difference =
                ramp.maxDifference() == null ? "" : ", or responses differ by more than " + ramp.maxDifference();
        return "ramp: '" + ramp.target() + "' gets " + String.join(", ", steps) + " in turn, each for at least "
                + Units.written(ramp.interval()) + " and " + ramp.minimumRequests()
                + " calls; back to 0 if more than " + Units.share(ramp.maxErrorRate())
                + " of its calls fail" + latency + difference;
    }

    private static String shadow(ShadowConfig shadow, Target target) {
        return "shadow '" + shadow.label() + "': " + Units.share(shadow.sample()) + " of the calls copied -> "
                + place(target) + ", for at most " + Units.written(shadow.timeout())
                + (shadow.compare() ? ", responses compared" : "");
    }

    private void fallback(ModelConfig model, RouteDecision decision) {
        ModelConfig.Fallback fallback = model.fallback();
        if (fallback == null) {
            return;
        }
        if (decision.fallback() == null) {
            lines.add("fallback: none for these calls, because it has version " + fallback.version());
        } else {
            lines.add("fallback: if the upstream fails -> " + place(decision.fallback()));
            upstreams.add(fallback.upstream());
        }
    }

    private static String cache(CacheConfig cache, boolean deterministic) {
        if (!deterministic) {
            return "cache: not used, since the model is declared not to be deterministic";
        }
        List<String> parts = new ArrayList<>(List.of("inputs", "requested outputs"));
        parts.add(
                cache.parameters().isEmpty()
                        ? "all parameters"
                        : "parameters " + String.join(", ", cache.parameters()));
        parts.add("forwarded headers");
        cache.headers().forEach(each -> parts.add("header " + each));
        if (cache.caller()) {
            parts.add("the caller");
        }
        String kept = cache.ttl().isZero()
                ? "no response is kept"
                : "responses of up to " + Units.size(cache.maxResponse()) + " are kept for "
                        + Units.written(cache.ttl()) + " in " + Units.size(cache.maxBytes());
        return "cache: " + kept + (cache.singleflight() ? "; equal requests under way are sent once" : "")
                + "; equal are requests of up to " + Units.size(cache.maxRequest()) + " with the same "
                + String.join(", ", parts);
    }

    private static String rate(ModelConfig.Rate rate) {
        List<String> limits = new ArrayList<>();
        if (rate.requestsPerSecond() > 0) {
            limits.add(rate.requestsPerSecond() + " requests");
        }
        if (rate.bytesPerSecond() != null) {
            limits.add(Units.size(rate.bytesPerSecond()));
        }
        return "rate: " + String.join(" and ", limits) + " per second for "
                + (rate.principal()
                        ? "each authenticated caller"
                        : rate.header() == null ? "all calls together" : "each value of header " + rate.header())
                + ", in bursts of up to " + Units.written(rate.burst()) + "; more are rejected with 429";
    }

    /**
     * Who counts the calls of a model with rates.
     *
     * @param shared null if gateways share nothing
     */
    private static String sharing(@Nullable SharedConfig shared) {
        if (shared == null) {
            return "rates: counted by each gateway alone";
        }
        return "rates: counted by all gateways together, in " + shared.servers() + "; if it fails or is slow, "
                + switch (shared.onFailure()) {
                    case LOCAL -> "by each gateway alone";
                    case OPEN -> "not at all";
                    case CLOSED -> "calls are rejected with 503";
                }
                + ", until it has answered in time for " + Units.written(shared.recovery());
    }

    /** An upstream without servers: it has a name, and fails all calls. */
    record UnconnectedUpstream(String name) implements Upstream {

        @Override
        public ServerFeatures peer() {
            return ServerFeatures.LOCAL;
        }

        @Override
        public Subscription send(Call call, UpstreamRequest request, Reply reply) {
            request.release();
            reply.fail(new OipException(ErrorCode.INTERNAL, "upstream '" + name + "' is not connected").confidential());
            return Subscription.NONE;
        }

        @Override
        public void close() {}
    }

    /**
     * A layer that an inference passes.
     *
     * @param does what it does to it
     */
    public record LayerExplanation(String name, String does) {

        /** The layers of a configuration that a call to this model passes, the outermost first. */
        public static List<LayerExplanation> of(GatewayConfig config, ModelConfig model) {
            return config.layers()
                    .placed(
                            config,
                            own -> new LayerExplanation(
                                    own.toString(), Objects.requireNonNull(own.does(config, model))),
                            added -> new LayerExplanation(added.name(), added.doc()));
        }

        @Override
        public String toString() {
            return "  " + name + ": " + does;
        }
    }
}
