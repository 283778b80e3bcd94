package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.access.AccessPolicy;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.identity.Authenticator;
import dev.isthmus.gateway.metrics.AccessMetrics;
import dev.isthmus.gateway.settings.AuthenticationConfig.HealthProbes;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.Listener;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Who may send what.
 *
 * @param authenticator null if callers are not identified
 * @param openListeners listeners whose requests need no credential
 * @param metrics counts refusals
 */
public record CallerAccess(
        @Nullable Authenticator authenticator, Set<String> openListeners, AccessPolicy policy, AccessMetrics metrics) {
    public CallerAccess {
        openListeners = Set.copyOf(openListeners);
    }

    /** The access of a configuration. */
    public static CallerAccess of(GatewayConfig config, @Nullable Authenticator authenticator, AccessMetrics metrics) {
        Set<String> open = config.listeners().stream()
                .filter(Listener::isOpen)
                .map(Listener::label)
                .collect(Collectors.toSet());
        return new CallerAccess(authenticator, open, AccessPolicy.of(config), metrics);
    }

    /** Identifies callers; null if they are not identified. */
    @Nullable
    Layer authentication() {
        return authenticator == null ? null : new Authentication(authenticator, openListeners);
    }

    /** Judges calls. */
    Layer authorization() {
        boolean openHealth = authenticator == null || authenticator.config().health() == HealthProbes.OPEN;
        return new Authorization(policy, metrics, openHealth);
    }
}
