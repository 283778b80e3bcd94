package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ModelConfig.RampConfig;
import dev.isthmus.gateway.settings.ModelConfig.Rate;
import dev.isthmus.gateway.settings.ModelConfig.RuleConfig;
import dev.isthmus.gateway.settings.ModelConfig.ShadowConfig;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Checks of one model's section, as far as it alone tells. */
record ModelConfigChecks(ModelConfig model, SectionCheck check) {
    private static final String LATEST = "latest";

    void run() {
        upstreamNames();
        Set<String> labels = targets();
        versions();
        for (RuleConfig rule : model.rules()) {
            if (named()) {
                named(rule, "rule: target", rule.target(), labels);
            }
            rule(rule);
        }
        ModelConfig.RequestKey sticky = model.sticky();
        if (sticky != null && check.at(sticky).valid() && (sticky.header() == null) == (sticky.parameter() == null)) {
            check.at(sticky).problem("sticky: either 'header' or 'parameter' is expected");
        }
        Set<String> shadows = new HashSet<>();
        for (ShadowConfig shadow : model.shadow()) {
            if (!shadows.add(shadow.label()) && check.at(shadow).valid("name", "upstream")) {
                twice(shadow, "shadow", shadow.label());
            }
        }
        if (model.ramp() != null) {
            ramp(model.ramp(), labels);
        }
        if (model.fallback() != null) {
            fallback(model.fallback());
        }
        rates();
    }

    /** Checks the names of models and versions sent to upstreams. */
    private void upstreamNames() {
        modelAndVersion(model, "", model.model(), model.version());
        model.targets().forEach(each -> modelAndVersion(each, "target: ", each.model(), each.version()));
        model.shadow().forEach(each -> modelAndVersion(each, "shadow: ", each.model(), each.version()));
        ModelConfig.Fallback fallback = model.fallback();
        if (fallback != null) {
            modelAndVersion(fallback, "fallback: ", fallback.model(), fallback.version());
        }
        name(model, "", "default_version", model.defaultVersion());
    }

    private void modelAndVersion(Record section, String what, @Nullable String name, @Nullable String version) {
        name(section, what, "model", name);
        name(section, what, "version", version);
    }

    private void name(Record section, String what, String key, @Nullable String name) {
        if (name != null && !NameGrammar.holds(name)) {
            check.at(section).problemAt(key, NameGrammar.broken(what + key, name));
        }
    }

    private Set<String> targets() {
        if (model.upstream() == null && model.targets().isEmpty() && check.valid("upstream", "targets")) {
            check.problem("'upstream' or 'targets' is expected");
        }
        if (!model.targets().isEmpty()) {
            notWithTargets("upstream", model.upstream());
            notWithTargets("model", model.model());
            notWithTargets("version", model.version());
        }
        Set<String> labels = new TreeSet<>();
        for (TargetConfig target : model.targets()) {
            if (!labels.add(target.label()) && check.at(target).valid("name", "upstream")) {
                twice(target, "target", target.label());
            }
        }
        if (!labels.isEmpty()
                && check.valid("targets")
                && model.targets().stream().allMatch(target -> target.weight() == 0)) {
            check.problem("targets", "at least one weight above 0 is expected");
        }
        return model.upstream() == null ? labels : Set.of(model.upstream());
    }

    private void notWithTargets(String key, @Nullable String value) {
        if (value != null) {
            check.problemAt(key, "with 'targets', '" + key + "' must be set on each target");
        }
    }

    private void twice(Record section, String kind, String label) {
        check.at(section).problem(kind + ": two " + kind + "s have the name '" + label + "'; give each a 'name'");
    }

    private void versions() {
        new TreeMap<>(model.versions()).forEach((label, version) -> {
            if (!NameGrammar.holds(label)) {
                check.problemAtNamed("versions", label, NameGrammar.broken("versions: label", label));
            }
            if (!NameGrammar.holds(version)) {
                check.problemAtNamed("versions", label, NameGrammar.broken("versions: version", version));
            }
            if (label.equals(LATEST) || label.matches("[0-9]+")) {
                check.problemAtName(
                        "versions", label, "versions: a label is expected, got the version '" + label + "'");
            }
            if (model.versions().containsKey(version)) {
                check.problemAtNamed(
                        "versions",
                        label,
                        "versions: version '" + label + "': a version is expected, got the label '" + version + "'");
            }
        });
        String other = model.defaultVersion();
        if (other != null
                && check.valid("versions")
                && !other.equals(LATEST)
                && !model.versions().containsKey(other)
                && !model.versions().containsValue(other)
                && other.chars().noneMatch(Character::isDigit)) {
            check.problem(
                    "default_version",
                    "latest, a version or a label of 'versions' is expected, got '" + other + "'"
                            + NearestName.suggestion(other, model.versions().keySet()));
        }
    }

    /** Whether the targets' names were read without problems. */
    private boolean named() {
        return check.readable("targets")
                && check.valid("upstream")
                && model.targets().stream().allMatch(target -> check.at(target).valid("name", "upstream"));
    }

    private void named(Record section, String what, String name, Set<String> labels) {
        if (!name.isEmpty() && !labels.contains(name)) {
            check.at(section)
                    .problemAt(
                            "target",
                            what + ": no target is named '" + name + "'" + NearestName.suggestion(name, labels));
        }
    }

    private void rule(RuleConfig rule) {
        if (check.at(rule).valid()
                && rule.headers().isEmpty()
                && rule.parameters().isEmpty()) {
            check.at(rule).problem("rule: 'headers' or 'parameters' is expected");
        }
        rule.headers().forEach((name, value) -> value(rule, "header", name, value));
        rule.parameters().forEach((name, value) -> value(rule, "parameter", name, value));
    }

    private void value(RuleConfig rule, String kind, String name, String value) {
        int star = value.indexOf('*');
        if (star >= 0 && star < value.length() - 1) {
            check.at(rule)
                    .problemAtNamed(
                            kind + "s",
                            name,
                            "rule: " + kind + " '" + name + "': a value, or a prefix followed by *, is expected, got '"
                                    + value + "'");
        }
    }

    private void ramp(RampConfig ramp, Set<String> labels) {
        SectionCheck ofRamp = check.at(ramp);
        if (labels.size() < 2 && named()) {
            ofRamp.problem("ramp: two or more targets are expected, got " + labels.size());
        } else if (named()) {
            named(ramp, "ramp: target", ramp.target(), labels);
        }
        double before = 0;
        for (int i = 0; i < ramp.steps().size(); i++) {
            double step = ramp.steps().get(i);
            if (step <= before) {
                ofRamp.problemAtItem(
                        "steps",
                        i,
                        ramp.steps().size(),
                        "ramp: step: more than " + Units.share(before) + " is expected, got '" + Units.share(step)
                                + "'");
            }
            before = step;
        }
        boolean compared = model.shadow().stream()
                .anyMatch(shadow -> shadow.compare() && shadow.label().equals(ramp.target()));
        if (ramp.maxDifference() != null && !compared && check.valid("shadow") && ofRamp.valid("target")) {
            ofRamp.problemAt(
                    "max_difference",
                    "ramp: max_difference: requires a shadow named '" + ramp.target() + "' with 'compare: true'");
        }
    }

    private void fallback(ModelConfig.Fallback fallback) {
        boolean itself = model.allTargets().stream()
                .anyMatch(target -> target.upstream().equals(fallback.upstream())
                        && Objects.equals(target.model(), fallback.model())
                        && Objects.equals(target.version(), fallback.version()));
        if (itself && check.at(fallback).valid() && !fallback.upstream().isEmpty()) {
            check.at(fallback).problem("fallback: an upstream, model or version other than the targets' is expected");
        }
    }

    private void rates() {
        Set<String> headers = new HashSet<>();
        for (Rate rate : model.rates()) {
            SectionCheck ofRate = check.at(rate);
            if (!ofRate.valid()) {
                continue;
            }
            if (rate.requestsPerSecond() == 0 && rate.bytesPerSecond() == null) {
                ofRate.problem("rate: 'requests_per_second' or 'bytes_per_second' is expected");
            }
            if (rate.principal() && rate.header() != null) {
                ofRate.problemAt("principal", "rate: one of 'header' and 'principal' is expected");
            }
            if (!headers.add(rate.principal() ? "principal:" : Objects.requireNonNullElse(rate.header(), ""))) {
                String what =
                        rate.header() == null ? "for all calls together" : "for the header '" + rate.header() + "'";
                ofRate.problem("rate: two rates are " + (rate.principal() ? "for each caller" : what));
            }
        }
    }
}
