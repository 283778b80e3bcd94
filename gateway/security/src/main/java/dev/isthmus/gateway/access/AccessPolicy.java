package dev.isthmus.gateway.access;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.settings.AccessConfig;
import dev.isthmus.gateway.settings.AccessConfig.AccessRule;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.ManagementAccess;
import dev.isthmus.gateway.settings.ModelPattern;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.ModelRef;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Who may do what, of one configuration. Without rules everything is allowed but management, which each listener serves
 * or not. Decisions are kept, by caller and model, in caches with limits. Thread-safe.
 */
public final class AccessPolicy {
    private static final int MAX_CALLERS = 10_000;
    private static final int MAX_DECISIONS = 50_000;
    private static final Duration IDLE = Duration.ofMinutes(10);

    private final @Nullable List<AccessRule> rules;
    /** The listeners that serve management, if there are no rules. */
    private final Set<String> management;

    private final boolean perListener;
    /**
     * By listener. Weak keys are compared by identity: one object stands for all requests with the same credential, and
     * its hash would be computed from all of its claims.
     */
    private final Cache<Principal, Map<String, Map<Permission, ModelGrants>>> callers = Caffeine.newBuilder()
            .weakKeys()
            .maximumSize(MAX_CALLERS)
            .expireAfterAccess(IDLE)
            .executor(Runnable::run)
            .build();

    private final Cache<DecisionKey, AccessDecision> decisions = Caffeine.newBuilder()
            .maximumSize(MAX_DECISIONS)
            .executor(Runnable::run)
            .build();

    private AccessPolicy(@Nullable List<AccessRule> rules, Set<String> management) {
        this.rules = rules;
        this.management = management;
        this.perListener = rules != null
                && rules.stream().anyMatch(rule -> !rule.who().listeners().isEmpty());
    }

    public static AccessPolicy of(GatewayConfig config) {
        AccessConfig access = config.access();
        Set<String> management = config.listeners().stream()
                .filter(each -> each.management() == ManagementAccess.ALLOW)
                .map(Listener::label)
                .collect(Collectors.toSet());
        config.listeners().stream()
                .filter(each -> each.management() == ManagementAccess.DENY)
                .map(Listener::label)
                .forEach(management::remove);
        return new AccessPolicy(access == null ? null : access.rules(), Set.copyOf(management));
    }

    /** {@code grants} are equal by identity. */
    private record DecisionKey(ModelGrants grants, String model, String version) {}

    /** Whether everything about models may be shown to every caller. */
    public boolean showsAllModels() {
        return rules == null;
    }

    public AccessDecision onModel(CallContext call, Permission permission, ModelRef model) {
        return onModel(call.principal(), call.listener(), permission, model);
    }

    /** As {@link #onModel(CallContext, Permission, ModelRef)}. */
    public AccessDecision onModel(Principal principal, String listener, Permission permission, ModelRef model) {
        if (rules == null) {
            return ofListener(listener, permission);
        }
        ModelGrants grants = grants(principal, listener, permission);
        AccessRule rule = grants.direct(model);
        return rule != null || grants.patterns.isEmpty()
                ? allowedBy(rule)
                : Objects.requireNonNull(decisions.get(
                        new DecisionKey(grants, model.name(), model.version()),
                        key -> allowedBy(grants.search(model))));
    }

    /**
     * Whether tensors of inferences may be in shared memory of an upstream that has it enabled. Without rules they may.
     */
    public boolean allowsSharedMemory(CallContext call, ModelRef model) {
        return rules == null || onModel(call, Permission.SHARED_MEMORY, model).allowed();
    }

    /**
     * The decision about an operation that names no model. Reading, and streams whose messages name their models, need
     * a rule for any model; their models are judged one by one. Management needs a rule for all models.
     */
    public AccessDecision onServer(CallContext call, Permission permission) {
        return onServer(call.principal(), call.listener(), permission);
    }

    /** As {@link #onServer(CallContext, Permission)}. */
    public AccessDecision onServer(Principal principal, String listener, Permission permission) {
        if (rules == null) {
            return ofListener(listener, permission);
        }
        ModelGrants grants = grants(principal, listener, permission);
        return allowedBy(permission.management() ? grants.everything : grants.anything);
    }

    /** The decision about a request whose model is not known yet: refused only if no model would be allowed. */
    public AccessDecision onSomething(CallContext call, Permission permission) {
        return rules == null
                ? ofListener(call.listener(), permission)
                : allowedBy(grants(call.principal(), call.listener(), permission).anything);
    }

    private AccessDecision ofListener(String listener, Permission permission) {
        return !permission.management() || management.contains(listener)
                ? AccessDecision.ALLOWED
                : AccessDecision.REFUSED;
    }

    private static AccessDecision allowedBy(@Nullable AccessRule rule) {
        return rule == null ? AccessDecision.REFUSED : new AccessDecision(true, rule.name());
    }

    private ModelGrants grants(Principal principal, String listener, Permission permission) {
        return Objects.requireNonNull(callers.get(principal, each -> new ConcurrentHashMap<>()))
                .computeIfAbsent(
                        perListener ? listener : "",
                        each -> ModelGrants.of(Objects.requireNonNull(rules).stream()
                                .filter(rule -> applies(rule.who(), principal, listener))
                                .toList()))
                .getOrDefault(permission, ModelGrants.NONE);
    }

    private static boolean applies(AccessConfig.Callers who, Principal principal, String listener) {
        return (who.names().isEmpty() || who.names().contains(principal.name()))
                && (who.groups().isEmpty() || who.groups().stream().anyMatch(principal.groups()::contains))
                && (who.identifiedBy().isEmpty() || who.identifiedBy().contains(principal.identifiedBy()))
                && (who.listeners().isEmpty() || who.listeners().contains(listener))
                && who.claims().entrySet().stream().allMatch(claim -> has(principal, claim.getKey(), claim.getValue()))
                && (who.sans().isEmpty()
                        || (principal.identifiedBy() == AccessConfig.IdentifiedBy.CERTIFICATE
                                && who.sans().stream().anyMatch(san -> has(principal, Principal.SANS, san))));
    }

    private static boolean has(Principal principal, String claim, String value) {
        return principal.claims().getOrDefault(claim, Set.of()).contains(value);
    }

    /** What the rules of one permission allow one caller on one listener. Immutable after construction. */
    private static final class ModelGrants {
        private static final ModelGrants NONE = new ModelGrants();

        /** The first rule for all models and versions. */
        private @Nullable AccessRule everything;
        /** The first rule for some model. */
        private @Nullable AccessRule anything;

        private final List<AccessRule> anyModel = new ArrayList<>();
        private final Map<String, List<AccessRule>> names = new HashMap<>();
        private final List<PatternGrant> patterns = new ArrayList<>();

        private record PatternGrant(ModelPattern pattern, AccessRule rule) {}

        /** @param rules those that apply to the caller */
        static Map<Permission, ModelGrants> of(List<AccessRule> rules) {
            Map<Permission, ModelGrants> permissions = new EnumMap<>(Permission.class);
            for (AccessRule rule : rules) {
                for (Permission permission : rule.may()) {
                    permissions
                            .computeIfAbsent(permission, each -> new ModelGrants())
                            .add(rule);
                }
            }
            return permissions;
        }

        private void add(AccessRule rule) {
            anything = anything == null ? rule : anything;
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

        /** The rule that allows an operation on a model without a search; null if there is none. */
        @Nullable
        AccessRule direct(ModelRef model) {
            AccessRule named =
                    everything == null ? ofVersion(names.getOrDefault(model.name(), List.of()), model) : everything;
            return named == null ? ofVersion(anyModel, model) : named;
        }

        /** The rule with a pattern that allows an operation on a model; null if there is none. */
        @Nullable
        AccessRule search(ModelRef model) {
            return ofVersion(
                    patterns.stream()
                            .filter(each -> each.pattern().matches(model.name()))
                            .map(PatternGrant::rule)
                            .toList(),
                    model);
        }

        private static @Nullable AccessRule ofVersion(List<AccessRule> rules, ModelRef model) {
            for (AccessRule rule : rules) {
                if (rule.versions().isEmpty() || rule.versions().contains(model.version())) {
                    return rule;
                }
            }
            return null;
        }
    }
}
