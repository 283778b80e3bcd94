package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.access.AccessPolicy;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.identity.Authenticator;
import dev.isthmus.gateway.metrics.AccessMetrics;
import dev.isthmus.gateway.settings.AuthenticationConfig.HealthProbes;
import java.util.Set;
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
