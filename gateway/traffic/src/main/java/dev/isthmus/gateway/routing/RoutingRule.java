package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.settings.ModelConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

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
