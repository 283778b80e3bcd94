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

/** Checks the models' sections, against the upstreams and against each other. */
final class ModelConfigChecks {
    private static final String LATEST = "latest";

    private final ConfigChecks checks;
    private final YamlReader yaml;
    private final SectionPositions positions;
    private final GatewayConfig config;

    ModelConfigChecks(ConfigChecks checks, YamlReader yaml, SectionPositions positions, GatewayConfig config) {
        this.checks = checks;
        this.yaml = yaml;
        this.positions = positions;
        this.config = config;
    }

    void run() {
        Map<String, ModelConfig> models = new TreeMap<>(config.models());
        models.forEach(this::model);
        aliases(models);
    }

    private void model(String name, ModelConfig model) {
        String what = "model '" + name + "'";
        if (!NameGrammar.holds(name)) {
            // Its position is found by a linear search.
            name(positions.ofName(config, "models", name), "model name", name);
        }
        upstreamNames(what, model);
        Set<String> labels = targets(what, model);
        versions(what, model);
        for (RuleConfig rule : model.rules()) {
            if (named(model)) {
                named(positions.of(rule, "target"), what + ": rule: target", rule.target(), labels);
            }
            rule(what + ": rule", rule);
        }
        ModelConfig.RequestKey sticky = model.sticky();
        if (sticky != null && checks.valid(sticky) && (sticky.header() == null) == (sticky.parameter() == null)) {
            yaml.problem(positions.of(sticky), what + ": sticky: either 'header' or 'parameter' is expected");
        }
        shadows(what, model);
        if (model.ramp() != null) {
            ramp(what + ": ramp", model, model.ramp(), labels);
        }
        if (model.fallback() != null) {
            fallback(what + ": fallback", model, model.fallback());
        }
        rates(what, model);
        if (model.batching() != null) {
            new BatchingChecks(checks, yaml, positions, config).run(what + ": batching", model, model.batching());
        }
        if (model.cache() != null) {
            new CacheChecks(checks, yaml, positions, config).run(what + ": cache", model.cache());
        }
    }

    /** Checks the names of models and versions sent to upstreams. */
    private void upstreamNames(String what, ModelConfig model) {
        modelAndVersion(what, model, model.model(), model.version());
        model.targets().forEach(each -> modelAndVersion(what + ": target", each, each.model(), each.version()));
        model.shadow().forEach(each -> modelAndVersion(what + ": shadow", each, each.model(), each.version()));
        ModelConfig.Fallback fallback = model.fallback();
        if (fallback != null) {
            modelAndVersion(what + ": fallback", fallback, fallback.model(), fallback.version());
        }
        optionalName(what, model, "default_version", model.defaultVersion());
        new TreeMap<>(model.versions()).forEach((label, version) -> {
            Node node = positions.ofNamed(model, "versions", label);
            name(node, what + ": versions: label", label);
            name(node, what + ": versions: version", version);
        });
    }

    private void modelAndVersion(String what, Record section, @Nullable String model, @Nullable String version) {
        optionalName(what, section, "model", model);
        optionalName(what, section, "version", version);
    }

    private void optionalName(String what, Record section, String key, @Nullable String name) {
        if (name != null) {
            name(positions.of(section, key), what + ": " + key, name);
        }
    }

    private void name(Node node, String what, String name) {
        if (!NameGrammar.holds(name)) {
            yaml.problem(node, NameGrammar.broken(what, name));
        }
    }

    private Set<String> targets(String what, ModelConfig model) {
        if (model.upstream() == null && model.targets().isEmpty() && checks.valid(model, "upstream", "targets")) {
            yaml.problem(positions.of(model), what + ": 'upstream' or 'targets' is expected");
        }
        if (model.upstream() != null) {
            checks.reference(positions.of(model, "upstream"), what + ": upstream", model.upstream());
        }
        if (!model.targets().isEmpty()) {
            notWithTargets(what, model, "upstream", model.upstream());
            notWithTargets(what, model, "model", model.model());
            notWithTargets(what, model, "version", model.version());
        }
        Set<String> labels = new TreeSet<>();
        for (TargetConfig target : model.targets()) {
            checks.reference(positions.of(target, "upstream"), what + ": target: upstream", target.upstream());
            if (!labels.add(target.label()) && checks.valid(target, "name", "upstream")) {
                yaml.problem(
                        positions.of(target),
                        what + ": target: two targets have the name '" + target.label() + "'; give each a 'name'");
            }
        }
        if (!labels.isEmpty()
                && checks.valid(model, "targets")
                && model.targets().stream().allMatch(target -> target.weight() == 0)) {
            yaml.problem(positions.of(model, "targets"), what + ": targets: at least one weight above 0 is expected");
        }
        return model.upstream() == null ? labels : Set.of(model.upstream());
    }

    private void notWithTargets(String what, ModelConfig model, String key, @Nullable String value) {
        if (value != null) {
            yaml.problem(positions.of(model, key), what + ": with 'targets', '" + key + "' must be set on each target");
        }
    }

    private void versions(String what, ModelConfig model) {
        new TreeMap<>(model.versions()).forEach((label, version) -> {
            if (label.equals(LATEST) || label.matches("[0-9]+")) {
                yaml.problem(
                        positions.ofName(model, "versions", label),
                        what + ": versions: a label is expected, got the version '" + label + "'");
            }
            if (model.versions().containsKey(version)) {
                yaml.problem(
                        positions.ofNamed(model, "versions", label),
                        what + ": version '" + label + "': a version is expected, got the label '" + version + "'");
            }
        });
        String other = model.defaultVersion();
        if (other != null
                && checks.valid(model, "versions")
                && !other.equals(LATEST)
                && !model.versions().containsKey(other)
                && !model.versions().containsValue(other)
                && other.chars().noneMatch(Character::isDigit)) {
            yaml.problem(
                    positions.of(model, "default_version"),
                    what + ": default_version: latest, a version or a label of 'versions' is expected, got '" + other
                            + "'"
                            + NearestName.suggestion(other, model.versions().keySet()));
        }
    }

    /** Whether the targets' names were read without problems. */
    private boolean named(ModelConfig model) {
        return checks.readable(model, "targets")
                && checks.valid(model, "upstream")
                && model.targets().stream().allMatch(target -> checks.valid(target, "name", "upstream"));
    }

    private void named(Node node, String what, String name, Set<String> labels) {
        if (!name.isEmpty() && !labels.contains(name)) {
            yaml.problem(node, what + ": no target is named '" + name + "'" + NearestName.suggestion(name, labels));
        }
    }

    private void rule(String what, RuleConfig rule) {
        if (checks.valid(rule) && rule.headers().isEmpty() && rule.parameters().isEmpty()) {
            yaml.problem(positions.of(rule), what + ": 'headers' or 'parameters' is expected");
        }
        rule.headers().forEach((name, value) -> value(rule, "headers", what + ": header", name, value));
        rule.parameters().forEach((name, value) -> value(rule, "parameters", what + ": parameter", name, value));
    }

    private void value(RuleConfig rule, String key, String what, String name, String value) {
        int star = value.indexOf('*');
        if (star >= 0 && star < value.length() - 1) {
            yaml.problem(
                    positions.ofNamed(rule, key, name),
                    what + " '" + name + "': a value, or a prefix followed by *, is expected, got '" + value + "'");
        }
    }

    private void shadows(String what, ModelConfig model) {
        Set<String> labels = new HashSet<>();
        for (ShadowConfig shadow : model.shadow()) {
            checks.reference(positions.of(shadow, "upstream"), what + ": shadow: upstream", shadow.upstream());
            if (!labels.add(shadow.label()) && checks.valid(shadow, "name", "upstream")) {
                yaml.problem(
                        positions.of(shadow),
                        what + ": shadow: two shadows have the name '" + shadow.label() + "'; give each a 'name'");
            }
        }
    }

    private void ramp(String what, ModelConfig model, RampConfig ramp, Set<String> labels) {
        if (labels.size() < 2 && named(model)) {
            yaml.problem(positions.of(ramp), what + ": two or more targets are expected, got " + labels.size());
        } else if (named(model)) {
            named(positions.of(ramp, "target"), what + ": target", ramp.target(), labels);
        }
        double before = 0;
        for (int i = 0; i < ramp.steps().size(); i++) {
            double step = ramp.steps().get(i);
            if (step <= before) {
                yaml.problem(
                        positions.of(ramp, "steps", i, ramp.steps().size()),
                        what + ": step: more than " + Units.share(before) + " is expected, got '" + Units.share(step)
                                + "'");
            }
            before = step;
        }
        boolean compared = model.shadow().stream()
                .anyMatch(shadow -> shadow.compare() && shadow.label().equals(ramp.target()));
        if (ramp.maxDifference() != null
                && !compared
                && checks.valid(model, "shadow")
                && checks.valid(ramp, "target")) {
            yaml.problem(
                    positions.of(ramp, "max_difference"),
                    what + ": max_difference: requires a shadow named '" + ramp.target() + "' with 'compare: true'");
        }
    }

    private void fallback(String what, ModelConfig model, Fallback fallback) {
        checks.reference(positions.of(fallback, "upstream"), what + ": upstream", fallback.upstream());
        boolean itself = model.allTargets().stream()
                .anyMatch(target -> target.upstream().equals(fallback.upstream())
                        && Objects.equals(target.model(), fallback.model())
                        && Objects.equals(target.version(), fallback.version()));
        if (itself && checks.valid(fallback) && !fallback.upstream().isEmpty()) {
            yaml.problem(
                    positions.of(fallback),
                    what + ": an upstream, model or version other than the targets' is expected");
        }
    }

    private void rates(String what, ModelConfig model) {
        Set<String> headers = new HashSet<>();
        for (Rate rate : model.rates()) {
            if (checks.valid(rate) && rate.requestsPerSecond() == 0 && rate.bytesPerSecond() == null) {
                yaml.problem(
                        positions.of(rate), what + ": rate: 'requests_per_second' or 'bytes_per_second' is expected");
            }
            if (checks.valid(rate) && rate.principal() && rate.header() != null) {
                yaml.problem(
                        positions.of(rate, "principal"), what + ": rate: one of 'header' and 'principal' is expected");
            }
            if (checks.valid(rate)
                    && !headers.add(rate.principal() ? "principal:" : Objects.requireNonNullElse(rate.header(), ""))) {
                yaml.problem(
                        positions.of(rate),
                        what + ": rate: two rates are "
                                + (rate.principal()
                                        ? "for each caller"
                                        : rate.header() == null
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
                alias(name, aliases.get(i), positions.of(model, "aliases", i, aliases.size()), owners);
            }
        });
    }

    private void alias(String name, String alias, Node node, Map<String, String> owners) {
        String what = "model '" + name + "': alias: ";
        String owner = owners.putIfAbsent(alias, name);
        if (ModelPattern.is(name)) {
            yaml.problem(node, what + "a pattern cannot have aliases");
        } else if (ModelPattern.is(alias)) {
            yaml.problem(node, what + "a name without * is expected, got '" + alias + "'");
        } else if (!NameGrammar.holds(alias)) {
            yaml.problem(node, NameGrammar.broken("model '" + name + "': alias", alias));
        } else if (config.models().containsKey(alias)) {
            yaml.problem(node, what + "'" + alias + "' is a model");
        } else if (owner != null) {
            yaml.problem(node, what + "'" + alias + "' is already an alias of model '" + owner + "'");
        }
    }
}
