package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.routing.StickyTarget;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.ModelConfig.RampConfig;
import dev.isthmus.gateway.settings.ModelConfig.RuleConfig;
import dev.isthmus.gateway.settings.ModelConfig.ShadowConfig;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import dev.isthmus.gateway.settings.ModelNames;
import dev.isthmus.gateway.settings.ModelNames.Match;
import dev.isthmus.gateway.settings.Units;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** What would happen to a call, in words, from the configuration alone. */
final class RouteExplanation {
    private static final String LATEST = "latest";

    private final GatewayConfig config;
    private final ExplainedCall question;
    private final List<String> lines = new ArrayList<>();
    private final Set<String> upstreams = new LinkedHashSet<>();

    /**
     * A call.
     *
     * @param model the name that the client asks for
     * @param headers by lower-case name
     */
    record ExplainedCall(
            String model, @Nullable String version, Map<String, String> headers, Map<String, String> parameters) {}

    RouteExplanation(GatewayConfig config, ExplainedCall question) {
        this.config = config;
        this.question = question;
    }

    /** The lines; empty where the gateway knows no such model. */
    List<String> lines() {
        Optional<Match> match = new ModelNames(config.models()).find(question.model());
        if (match.isPresent()) {
            configured(match.get());
        } else if (!unlisted()) {
            return List.of();
        }
        UpstreamDescription words = new UpstreamDescription(config);
        upstreams.forEach(name -> lines.addAll(words.of(name)));
        lines.add("gateway: bodies of at most "
                + Units.size(config.limits().maxBodySize()) + ", "
                + config.limits().maxRequests() + " concurrent calls; more are refused with 503");
        return lines;
    }

    private List<String> discovering() {
        return new TreeMap<>(config.upstreams())
                .entrySet().stream()
                        .filter(each -> each.getValue().discover())
                        .map(Map.Entry::getKey)
                        .toList();
    }

    private boolean unlisted() {
        List<String> discovering = discovering();
        String other = config.defaultUpstream();
        if (discovering.isEmpty() && other == null) {
            return false;
        }
        lines.add("model '" + question.model() + "' is not configured");
        if (!discovering.isEmpty()) {
            lines.add("discovery: the first of these upstreams whose repository index lists it takes it: "
                    + String.join(", ", discovering));
            upstreams.addAll(discovering);
        }
        if (other == null) {
            lines.add("otherwise it is unknown: 404");
        } else {
            lines.add((discovering.isEmpty() ? "" : "otherwise ") + "default upstream '" + other + "' takes it");
            upstreams.add(other);
        }
        return true;
    }

    private void configured(Match match) {
        ModelConfig model = model(match.key());
        lines.add("model '" + question.model() + "' is "
                + switch (match.by()) {
                    case NAME -> "configured by this name";
                    case ALIAS -> "an alias of model '" + match.key() + "'";
                    case PATTERN -> "taken by the pattern '" + match.key() + "'";
                });
        String name = match.by() == ModelNames.MatchKind.PATTERN ? question.model() : match.key();
        String version = version(model);
        List<TargetConfig> serving = serving(model);
        if (serving.isEmpty()) {
            lines.add("no target serves version '" + version + "': 404");
            return;
        }
        TargetConfig chosen = rules(model);
        targets(model, serving, name, version, chosen);
        sticky(match.key(), model, serving, chosen);
        if (model.ramp() != null) {
            lines.add(ramp(model.ramp()));
        }
        model.shadow().forEach(shadow -> lines.add(shadow(shadow, name)));
        fallback(model, name, version);
        model.rates().forEach(rate -> lines.add(rate(rate)));
        lines.add("timeout: "
                + (model.timeout() == null ? "the upstream's" : Units.written(model.timeout()))
                + ", where the client gives no deadline");
    }

    private ModelConfig model(String key) {
        ModelConfig model = config.models().get(key);
        if (model == null) {
            throw new IllegalStateException("no model '" + key + "'");
        }
        return model;
    }

    /** The version that is asked for; null where the server chooses. */
    private @Nullable String version(ModelConfig model) {
        boolean asked = question.version() != null;
        String named = asked ? question.version() : model.defaultVersion();
        String whose = asked ? "the client asks for '" + named + "'" : "the client names none";
        if (named == null) {
            lines.add("version: the client names none; the server chooses, its latest as a rule");
            return null;
        }
        if (!asked) {
            whose += "; 'default_version' is '" + named + "'";
        }
        String mapped = model.versions().get(named);
        if (mapped != null) {
            lines.add("version: " + whose + ", a label of version " + mapped);
            return mapped;
        }
        if (!asked && named.equals(LATEST)) {
            lines.add("version: " + whose + ": the server chooses");
            return null;
        }
        lines.add("version: " + whose);
        return named;
    }

    /** The targets that the call may go to. */
    private List<TargetConfig> serving(ModelConfig model) {
        String asked = question.version();
        return asked == null || model.versions().containsKey(asked) ? model.allTargets() : model.serving(asked);
    }

    private boolean mayServe(ModelConfig model, TargetConfig target) {
        return target.version() == null || serving(model).contains(target);
    }

    /** The target of the first rule that matches. */
    private @Nullable TargetConfig rules(ModelConfig model) {
        TargetConfig chosen = null;
        for (RuleConfig rule : model.rules()) {
            boolean matches = rule.matches(question.headers()::get, question.parameters()::get);
            TargetConfig named = target(model, rule);
            boolean serves = named != null && mayServe(model, named);
            String outcome = !matches
                    ? "does not match"
                    : !serves
                            ? "matches, but its target has another version"
                            : chosen == null ? "matches" : "matches, but comes later";
            lines.add("rule: " + conditions(rule) + " -> '" + rule.target() + "': " + outcome);
            if (matches && serves && chosen == null) {
                chosen = named;
            }
        }
        return chosen;
    }

    private static @Nullable TargetConfig target(ModelConfig model, RuleConfig rule) {
        return model.allTargets().stream()
                .filter(target -> target.label().equals(rule.target()))
                .findFirst()
                .orElse(null);
    }

    private static String conditions(RuleConfig rule) {
        List<String> conditions = new ArrayList<>();
        new TreeMap<>(rule.headers())
                .forEach((name, value) -> conditions.add("header " + name + " is '" + value + "'"));
        new TreeMap<>(rule.parameters())
                .forEach((name, value) -> conditions.add("parameter " + name + " is '" + value + "'"));
        return String.join(" and ", conditions);
    }

    private void targets(
            ModelConfig model,
            List<TargetConfig> serving,
            String name,
            @Nullable String version,
            @Nullable TargetConfig chosen) {
        for (TargetConfig target : model.allTargets()) {
            double share = chosen != null ? (target.equals(chosen) ? 1 : 0) : share(target, serving);
            boolean replaced = question.version() == null
                    || model.versions().containsKey(question.version())
                    || model.explicitVersion() == ModelConfig.ExplicitVersion.OVERRIDE;
            String asked = target.version() == null || !replaced ? version : target.version();
            if (share == 0 && !mayServe(model, target)) {
                lines.add("target '" + target.label() + "': none of such calls, since it has version "
                        + target.version());
                continue;
            }
            lines.add("target '" + target.label() + "': " + percent(share) + " of such calls -> "
                    + place(target.upstream(), target.model(), name, asked));
            if (share > 0 || model.ramp() != null) {
                upstreams.add(target.upstream());
            }
        }
    }

    /** Of calls that no rule takes; all targets that serve have equal shares where none has a weight. */
    private static double share(TargetConfig target, List<TargetConfig> serving) {
        long all = serving.stream().mapToLong(TargetConfig::weight).sum();
        if (!serving.contains(target)) {
            return 0;
        }
        return all == 0 ? 1.0 / serving.size() : (double) target.weight() / all;
    }

    private static String percent(double share) {
        return Units.share(Math.round(share * 10_000) / 10_000.0);
    }

    private static String place(String upstream, @Nullable String renamed, String name, @Nullable String version) {
        return "upstream '" + upstream + "', model '" + (renamed == null ? name : renamed) + "', "
                + (version == null ? "the version that the server chooses" : "version " + version);
    }

    private void sticky(String route, ModelConfig model, List<TargetConfig> serving, @Nullable TargetConfig chosen) {
        ModelConfig.RequestKey key = model.sticky();
        if (key == null) {
            return;
        }
        String what = key.header() != null ? "header " + key.header() : "parameter " + key.parameter();
        String value = key.header() != null
                ? question.headers().get(key.header())
                : question.parameters().get(String.valueOf(key.parameter()));
        lines.add("sticky: by " + what + "; " + decided(route, model, serving, chosen, value));
    }

    private static String decided(
            String route,
            ModelConfig model,
            List<TargetConfig> serving,
            @Nullable TargetConfig chosen,
            @Nullable String value) {
        if (value == null || value.isEmpty()) {
            return "this call has none, so that chance decides";
        }
        String hash = "the hash of '" + value + "' ";
        if (chosen != null) {
            return hash + "decides on the server, always alike; the rule decided on the target";
        }
        return hash + "decides on the target and the server, always alike: '"
                + StickyTarget.of(route, serving, value) + "'"
                + (model.ramp() == null ? "" : " by the configured weights, which the ramp changes");
    }

    private static String ramp(RampConfig ramp) {
        List<String> steps = ramp.steps().stream().map(Units::share).toList();
        String latency = ramp.maxLatencyRatio() == 0
                ? ""
                : ", or are " + ramp.maxLatencyRatio() + " times as slow as the others'";
        String difference = ramp.maxDifference() == null ? "" : ", or differ by more than " + ramp.maxDifference();
        return "ramp: '" + ramp.target() + "' gets " + String.join(", ", steps) + " in turn, each for "
                + Units.written(ramp.interval()) + " and " + ramp.minimumRequests()
                + " calls at least; back to nothing where more than " + Units.share(ramp.maxErrorRate())
                + " of its calls fail" + latency + difference;
    }

    private static String shadow(ShadowConfig shadow, String name) {
        return "shadow '" + shadow.label() + "': " + Units.share(shadow.sample()) + " of the calls copied -> "
                + place(shadow.upstream(), shadow.model(), name, shadow.version()) + ", for at most "
                + Units.written(shadow.timeout()) + (shadow.compare() ? ", answers compared" : "");
    }

    private void fallback(ModelConfig model, String name, @Nullable String version) {
        ModelConfig.Fallback fallback = model.fallback();
        if (fallback != null && excludes(model, fallback)) {
            lines.add("fallback: none for such calls, since it has version " + fallback.version());
        } else if (fallback != null) {
            String asked = fallback.version() == null && fallback.model() == null ? version : fallback.version();
            lines.add("fallback: where the call failed as a fleet fails -> "
                    + place(fallback.upstream(), fallback.model(), name, asked));
            upstreams.add(fallback.upstream());
        }
    }

    private boolean excludes(ModelConfig model, ModelConfig.Fallback fallback) {
        String asked = question.version();
        return model.explicitVersion() == ModelConfig.ExplicitVersion.HONOR
                && asked != null
                && !model.versions().containsKey(asked)
                && fallback.version() != null
                && !asked.equals(fallback.version());
    }

    private static String rate(ModelConfig.Rate rate) {
        List<String> limits = new ArrayList<>();
        if (rate.requestsPerSecond() > 0) {
            limits.add(rate.requestsPerSecond() + " requests");
        }
        if (rate.bytesPerSecond() != null) {
            limits.add(Units.size(rate.bytesPerSecond()));
        }
        return "rate: " + String.join(" and ", limits) + " a second for "
                + (rate.header() == null ? "all calls together" : "each value of header " + rate.header())
                + ", that of " + Units.written(rate.burst()) + " at once; more are refused with 429";
    }
}
