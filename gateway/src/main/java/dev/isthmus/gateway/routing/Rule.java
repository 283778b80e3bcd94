package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.config.ModelConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Which requests go to one arm: those of which every condition holds. */
record Rule(List<Condition> conditions, Arm arm) {

    /** @throws IllegalArgumentException where the rule's target is no arm */
    static Rule of(ModelConfig.Rule config, Split split) {
        Arm arm = split.named(config.target());
        if (arm == null) {
            throw new IllegalArgumentException(
                    "a rule's target is named '" + config.target() + "', expected one of " + split.names());
        }
        List<Condition> conditions = new ArrayList<>();
        config.headers()
                .forEach((name, value) ->
                        conditions.add(new Condition(true, name.toLowerCase(Locale.ROOT), Value.of(value))));
        config.parameters().forEach((name, value) -> conditions.add(new Condition(false, name, Value.of(value))));
        return new Rule(List.copyOf(conditions), arm);
    }

    boolean matches(Attributes attributes) {
        for (Condition condition : conditions) {
            if (!condition.holds(attributes)) {
                return false;
            }
        }
        return true;
    }

    boolean needsParameters() {
        return conditions.stream().anyMatch(condition -> !condition.header);
    }

    /** @param header whether a header is looked at, or a parameter */
    private record Condition(boolean header, String name, Value value) {
        boolean holds(Attributes attributes) {
            return value.matches(header ? attributes.header(name) : attributes.parameter(name));
        }
    }

    /** @param open whether any text may follow */
    private record Value(String text, boolean open) {
        static Value of(String pattern) {
            return pattern.endsWith("*")
                    ? new Value(pattern.substring(0, pattern.length() - 1), true)
                    : new Value(pattern, false);
        }

        boolean matches(@Nullable String value) {
            return value != null && (open ? value.startsWith(text) : value.equals(text));
        }
    }
}
