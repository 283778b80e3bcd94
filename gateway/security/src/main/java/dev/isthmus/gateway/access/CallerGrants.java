package dev.isthmus.gateway.access;

import dev.isthmus.gateway.settings.AccessConfig.AccessRule;
import dev.isthmus.gateway.settings.ModelPattern;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.ModelRef;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What the rules allow one caller on one listener. Immutable after construction. */
final class CallerGrants {
    private final Map<Permission, ModelGrants> permissions = new EnumMap<>(Permission.class);

    /** A rule for names that match. */
    private record PatternGrant(ModelPattern pattern, AccessRule rule) {}

    /** The rules of one permission. */
    private static final class ModelGrants {
        /** The first rule for all models and versions. */
        private @Nullable AccessRule everything;

        private @Nullable AccessRule first;
        private final List<AccessRule> anyModel = new ArrayList<>();
        private final Map<String, List<AccessRule>> names = new HashMap<>();
        private final List<PatternGrant> patterns = new ArrayList<>();

        void add(AccessRule rule) {
            first = first == null ? rule : first;
            if (rule.models().isEmpty() && rule.versions().isEmpty()) {
                everything = everything == null ? rule : everything;
            } else if (rule.models().isEmpty()) {
                anyModel.add(rule);
            }
            for (String model : rule.models()) {
                if (ModelPattern.is(model)) {
                    patterns.add(new PatternGrant(new ModelPattern(model), rule));
                } else {
                    names.computeIfAbsent(model, name -> new ArrayList<>()).add(rule);
                }
            }
        }

        @Nullable
        AccessRule forModel(ModelRef model) {
            AccessRule named = ofVersion(names.getOrDefault(model.name(), List.of()), model);
            return named == null ? ofVersion(anyModel, model) : named;
        }

        @Nullable
        AccessRule byPattern(ModelRef model) {
            for (PatternGrant each : patterns) {
                if (each.pattern().matches(model.name()) && coversVersion(each.rule(), model)) {
                    return each.rule();
                }
            }
            return null;
        }

        private static @Nullable AccessRule ofVersion(List<AccessRule> rules, ModelRef model) {
            for (AccessRule rule : rules) {
                if (coversVersion(rule, model)) {
                    return rule;
                }
            }
            return null;
        }

        private static boolean coversVersion(AccessRule rule, ModelRef model) {
            return rule.versions().isEmpty() || rule.versions().contains(model.version());
        }
    }

    /** @param rules those that apply to the caller */
    CallerGrants(List<AccessRule> rules) {
        for (AccessRule rule : rules) {
            for (Permission permission : rule.may()) {
                permissions
                        .computeIfAbsent(permission, each -> new ModelGrants())
                        .add(rule);
            }
        }
    }

    /** Whether the models of a permission include patterns, which are searched one after the other. */
    boolean searches(Permission permission) {
        ModelGrants grants = permissions.get(permission);
        return grants != null && grants.everything == null && !grants.patterns.isEmpty();
    }

    /** The rule that allows an operation on a model without a search; null if there is none. */
    @Nullable
    AccessRule direct(Permission permission, ModelRef model) {
        ModelGrants grants = permissions.get(permission);
        if (grants == null) {
            return null;
        }
        return grants.everything == null ? grants.forModel(model) : grants.everything;
    }

    /** The rule with a pattern that allows an operation on a model; null if there is none. */
    @Nullable
    AccessRule search(Permission permission, ModelRef model) {
        ModelGrants grants = permissions.get(permission);
        return grants == null ? null : grants.byPattern(model);
    }

    /** The rule that allows an operation on some model; null if there is none. */
    @Nullable
    AccessRule anything(Permission permission) {
        ModelGrants grants = permissions.get(permission);
        return grants == null ? null : grants.first;
    }

    /** The rule that allows an operation on all models; null if there is none. */
    @Nullable
    AccessRule everything(Permission permission) {
        ModelGrants grants = permissions.get(permission);
        return grants == null ? null : grants.everything;
    }
}
