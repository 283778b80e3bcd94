package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ModelConfig.Fallback;
import dev.isthmus.gateway.settings.ModelConfig.RampConfig;
import dev.isthmus.gateway.settings.ModelConfig.Rate;
import dev.isthmus.gateway.settings.ModelConfig.RuleConfig;
import dev.isthmus.gateway.settings.ModelConfig.ShadowConfig;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.nodes.Node;

/** Whether the models' sections fit the upstreams, each other and themselves. */
final class ModelConfigChecks {
    private static final String LATEST = "latest";

    private final ConfigChecks all;
    private final YamlReader yaml;
    private final SectionPositions places;
    private final GatewayConfig config;

    ModelConfigChecks(ConfigChecks all, YamlReader yaml, SectionPositions places, GatewayConfig config) {
        this.all = all;
        this.yaml = yaml;
        this.places = places;
        this.config = config;
    }

    void run() {
        Map<String, ModelConfig> models = new TreeMap<>(config.models());
        models.forEach(this::model);
        aliases(models);
    }

    private void model(String name, ModelConfig model) {
        String what = "model '" + name + "'";
        name(places.ofName(config, "models", name), "model name", name);
        namesThere(what, model);
        Set<String> labels = targets(what, model);
        versions(what, model);
        for (RuleConfig rule : model.rules()) {
            if (named(model)) {
                named(places.of(rule, "target"), what + ": rule: target", rule.target(), labels);
            }
            rule(what + ": rule", rule);
        }
        ModelConfig.RequestKey sticky = model.sticky();
        if (sticky != null && all.sound(sticky) && (sticky.header() == null) == (sticky.parameter() == null)) {
            yaml.problem(places.of(sticky), what + ": sticky: either 'header' or 'parameter' is expected");
        }
        shadows(what, model);
        if (model.ramp() != null) {
            ramp(what + ": ramp", model, model.ramp(), labels);
        }
        if (model.fallback() != null) {
            fallback(what + ": fallback", model, model.fallback());
        }
        rates(what, model);
    }

    /** What servers are asked for. */
    private void namesThere(String what, ModelConfig model) {
        place(what, model, model.model(), model.version());
        model.targets().forEach(each -> place(what + ": target", each, each.model(), each.version()));
        model.shadow().forEach(each -> place(what + ": shadow", each, each.model(), each.version()));
        ModelConfig.Fallback fallback = model.fallback();
        if (fallback != null) {
            place(what + ": fallback", fallback, fallback.model(), fallback.version());
        }
        nameThere(what, model, "default_version", model.defaultVersion());
        new TreeMap<>(model.versions()).forEach((label, version) -> {
            Node node = places.ofNamed(model, "versions", label);
            name(node, what + ": versions: label", label);
            name(node, what + ": versions: version", version);
        });
    }

    private void place(String what, Record section, @Nullable String model, @Nullable String version) {
        nameThere(what, section, "model", model);
        nameThere(what, section, "version", version);
    }

    private void nameThere(String what, Record section, String key, @Nullable String name) {
        if (name != null) {
            name(places.of(section, key), what + ": " + key, name);
        }
    }

    private void name(Node node, String what, String name) {
        if (!NameGrammar.holds(name)) {
            yaml.problem(node, NameGrammar.broken(what, name));
        }
    }

    private Set<String> targets(String what, ModelConfig model) {
        if (model.upstream() == null && model.targets().isEmpty() && all.sound(model, "upstream", "targets")) {
            yaml.problem(places.of(model), what + ": 'upstream' or 'targets' is expected");
        }
        if (model.upstream() != null) {
            all.reference(places.of(model, "upstream"), what + ": upstream", model.upstream());
        }
        if (!model.targets().isEmpty()) {
            alone(what, model, "upstream", model.upstream());
            alone(what, model, "model", model.model());
            alone(what, model, "version", model.version());
        }
        Set<String> labels = new TreeSet<>();
        for (TargetConfig target : model.targets()) {
            all.reference(places.of(target, "upstream"), what + ": target: upstream", target.upstream());
            if (!labels.add(target.label()) && all.sound(target, "name", "upstream")) {
                yaml.problem(
                        places.of(target),
                        what + ": target: two are named '" + target.label() + "'; 'name' is expected");
            }
        }
        if (!labels.isEmpty()
                && all.sound(model, "targets")
                && model.targets().stream().allMatch(target -> target.weight() == 0)) {
            yaml.problem(places.of(model, "targets"), what + ": targets: at least one weight above 0 is expected");
        }
        return model.upstream() == null ? labels : Set.of(model.upstream());
    }

    private void alone(String what, ModelConfig model, String key, @Nullable String value) {
        if (value != null) {
            yaml.problem(places.of(model, key), what + ": '" + key + "' belongs into the targets where there are some");
        }
    }

    private void versions(String what, ModelConfig model) {
        new TreeMap<>(model.versions()).forEach((label, version) -> {
            if (label.equals(LATEST) || label.matches("[0-9]+")) {
                yaml.problem(
                        places.ofName(model, "versions", label),
                        what + ": versions: a label is expected, got '" + label + "', which is a version itself");
            }
            if (model.versions().containsKey(version)) {
                yaml.problem(
                        places.ofNamed(model, "versions", label),
                        what + ": version '" + label + "': a version is expected, got the label '" + version + "'");
            }
        });
        String other = model.defaultVersion();
        if (other != null
                && all.sound(model, "versions")
                && !other.equals(LATEST)
                && !model.versions().containsKey(other)
                && !model.versions().containsValue(other)
                && other.chars().noneMatch(Character::isDigit)) {
            yaml.problem(
                    places.of(model, "default_version"),
                    what + ": default_version: latest, a version or a label of 'versions' is expected, got '" + other
                            + "'"
                            + YamlReader.suggestion(other, model.versions().keySet()));
        }
    }

    /** Whether the targets' names are known. */
    private boolean named(ModelConfig model) {
        return all.readable(model, "targets")
                && all.sound(model, "upstream")
                && model.targets().stream().allMatch(target -> all.sound(target, "name", "upstream"));
    }

    private void named(Node node, String what, String name, Set<String> labels) {
        if (!name.isEmpty() && !labels.contains(name)) {
            yaml.problem(node, what + ": no target is named '" + name + "'" + YamlReader.suggestion(name, labels));
        }
    }

    private void rule(String what, RuleConfig rule) {
        if (all.sound(rule) && rule.headers().isEmpty() && rule.parameters().isEmpty()) {
            yaml.problem(places.of(rule), what + ": 'headers' or 'parameters' is expected");
        }
        rule.headers().forEach((name, value) -> value(rule, "headers", what + ": header", name, value));
        rule.parameters().forEach((name, value) -> value(rule, "parameters", what + ": parameter", name, value));
    }

    private void value(RuleConfig rule, String key, String what, String name, String value) {
        int star = value.indexOf('*');
        if (star >= 0 && star < value.length() - 1) {
            yaml.problem(
                    places.ofNamed(rule, key, name),
                    what + " '" + name + "': a value, or its beginning with * after it, is expected, got '" + value
                            + "'");
        }
    }

    private void shadows(String what, ModelConfig model) {
        Set<String> labels = new HashSet<>();
        for (ShadowConfig shadow : model.shadow()) {
            all.reference(places.of(shadow, "upstream"), what + ": shadow: upstream", shadow.upstream());
            if (!labels.add(shadow.label()) && all.sound(shadow, "name", "upstream")) {
                yaml.problem(
                        places.of(shadow),
                        what + ": shadow: two are named '" + shadow.label() + "'; 'name' is expected");
            }
        }
    }

    private void ramp(String what, ModelConfig model, RampConfig ramp, Set<String> labels) {
        if (named(model)) {
            named(places.of(ramp, "target"), what + ": target", ramp.target(), labels);
        }
        if (labels.size() < 2 && named(model)) {
            yaml.problem(places.of(ramp), what + ": two or more targets are expected, got " + labels.size());
        }
        double before = 0;
        for (int i = 0; i < ramp.steps().size(); i++) {
            double step = ramp.steps().get(i);
            if (step <= before) {
                yaml.problem(
                        places.of(ramp, "steps", i, ramp.steps().size()),
                        what + ": step: more than " + Units.share(before) + " is expected, got '" + Units.share(step)
                                + "'");
            }
            before = step;
        }
        boolean compared = model.shadow().stream()
                .anyMatch(shadow -> shadow.compare() && shadow.label().equals(ramp.target()));
        if (ramp.maxDifference() != null && !compared && all.sound(model, "shadow") && all.sound(ramp, "target")) {
            yaml.problem(
                    places.of(ramp, "max_difference"),
                    what + ": max_difference: needs a shadow that is named '" + ramp.target()
                            + "' and has 'compare: true'");
        }
    }

    private void fallback(String what, ModelConfig model, Fallback fallback) {
        all.reference(places.of(fallback, "upstream"), what + ": upstream", fallback.upstream());
        boolean itself = model.allTargets().stream()
                .anyMatch(target -> target.upstream().equals(fallback.upstream())
                        && Objects.equals(target.model(), fallback.model())
                        && Objects.equals(target.version(), fallback.version()));
        if (itself && all.sound(fallback) && !fallback.upstream().isEmpty()) {
            yaml.problem(
                    places.of(fallback), what + ": another upstream, model or version than the targets' is expected");
        }
    }

    private void rates(String what, ModelConfig model) {
        Set<String> headers = new HashSet<>();
        for (Rate rate : model.rates()) {
            if (all.sound(rate) && rate.requestsPerSecond() == 0 && rate.bytesPerSecond() == null) {
                yaml.problem(places.of(rate), what + ": rate: 'requests_per_second' or 'bytes_per_second' is expected");
            }
            if (all.sound(rate) && !headers.add(Objects.requireNonNullElse(rate.header(), ""))) {
                yaml.problem(
                        places.of(rate),
                        what + ": rate: two are "
                                + (rate.header() == null
                                        ? "for all calls together"
                                        : "for the header '" + rate.header() + "'"));
            }
        }
    }

    private void aliases(Map<String, ModelConfig> models) {
        Map<String, String> owners = new HashMap<>();
        models.forEach((name, model) -> {
            List<String> aliases = model.aliases();
            for (int i = 0; i < aliases.size(); i++) {
                alias(name, aliases.get(i), places.of(model, "aliases", i, aliases.size()), owners);
            }
        });
    }

    private void alias(String name, String alias, Node node, Map<String, String> owners) {
        String what = "model '" + name + "': alias: ";
        String owner = owners.putIfAbsent(alias, name);
        if (ModelPattern.is(name)) {
            yaml.problem(node, what + "a pattern takes none");
        } else if (ModelPattern.is(alias)) {
            yaml.problem(node, what + "a name without * is expected, got '" + alias + "'");
        } else if (!NameGrammar.holds(alias)) {
            yaml.problem(node, NameGrammar.broken("model '" + name + "': alias", alias));
        } else if (config.models().containsKey(alias)) {
            yaml.problem(node, what + "'" + alias + "' is a model");
        } else if (owner != null) {
            yaml.problem(node, what + "'" + alias + "' is one of model '" + owner + "' already");
        }
    }
}
