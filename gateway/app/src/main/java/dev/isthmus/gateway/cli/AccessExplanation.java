package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.access.AccessDecision;
import dev.isthmus.gateway.access.AccessPolicy;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.settings.AccessConfig.IdentifiedBy;
import dev.isthmus.gateway.settings.ApiKeyFile;
import dev.isthmus.gateway.settings.ApiKeyFile.ApiKeyEntry;
import dev.isthmus.gateway.settings.AuthenticationConfig;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.ModelRef;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Explains in text what a caller may do with a model, from the configuration alone. */
record AccessExplanation(GatewayConfig config, ExplainedCaller caller) {

    /**
     * A caller.
     *
     * @param name empty for one that is not identified
     * @param groups besides those in the file of API keys
     * @param claims of its token; a caller that is not in the file of API keys has one
     * @param listener null for the first one
     */
    record ExplainedCaller(
            String name,
            Set<String> groups,
            Map<String, String> claims,
            @Nullable String listener) {}

    /** @throws ConfigException if the file of API keys cannot be read */
    List<String> lines(ModelRef model) throws ConfigException {
        Principal principal = principal();
        String listener =
                caller.listener() == null ? config.listeners().getFirst().label() : caller.listener();
        AccessPolicy policy = AccessPolicy.of(config);
        List<String> lines = new ArrayList<>();
        lines.add("caller: '" + principal.name() + "', identified by "
                + principal.identifiedBy().name().toLowerCase(Locale.ROOT) + ", groups "
                + new TreeSet<>(principal.groups())
                + ", on listener " + listener);
        for (Permission permission : Permission.values()) {
            AccessDecision decision = policy.onModel(principal, listener, permission, model);
            lines.add("may " + permission.label() + ": " + reason(decision, permission));
        }
        return lines.stream().map(config.references()::masked).toList();
    }

    private String reason(AccessDecision decision, Permission permission) {
        if (config.access() != null) {
            return decision.allowed() ? "yes, by rule '" + decision.rule() + "'" : "no: no rule allows it";
        }
        if (!permission.management()) {
            return "yes: there is no section 'access'";
        }
        return decision.allowed()
                ? "yes: the listener has 'management: allow'"
                : "no: the listener has 'management: deny'";
    }

    private Principal principal() throws ConfigException {
        Set<String> groups = new HashSet<>(caller.groups());
        IdentifiedBy way = caller.name().isEmpty() ? IdentifiedBy.NONE : IdentifiedBy.JWT;
        for (ApiKeyEntry entry : keys()) {
            if (entry.name().equals(caller.name())) {
                way = IdentifiedBy.API_KEY;
                groups.addAll(entry.groups());
            }
        }
        Map<String, Set<String>> claims = new HashMap<>();
        caller.claims().forEach((claim, value) -> claims.put(claim, Set.of(value)));
        return new Principal(caller.name(), groups, claims, way);
    }

    private List<ApiKeyEntry> keys() throws ConfigException {
        AuthenticationConfig authentication = config.authentication();
        return authentication == null || authentication.apiKeys() == null
                ? List.of()
                : ApiKeyFile.read(authentication.apiKeys().file());
    }
}
