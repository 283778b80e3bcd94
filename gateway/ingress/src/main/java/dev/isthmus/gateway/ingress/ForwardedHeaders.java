package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.settings.AuthenticationConfig;
import dev.isthmus.gateway.settings.AuthenticationConfig.ApiKeyConfig;
import dev.isthmus.gateway.settings.AuthenticationConfig.ForwardedCredential;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.HeaderAllowList;
import java.util.HashSet;
import java.util.Set;

/** The request headers that servers get. */
final class ForwardedHeaders {
    private ForwardedHeaders() {}

    /** The headers that are forwarded: without credentials, if so configured, and callers' names that clients sent. */
    static HeaderAllowList of(GatewayConfig config) {
        AuthenticationConfig authentication = config.authentication();
        if (authentication == null) {
            return config.headers().forwarded();
        }
        Set<String> removed = new HashSet<>();
        removed.add(authentication.forward().principalHeader());
        if (authentication.forward().credential() == ForwardedCredential.REMOVED) {
            ApiKeyConfig keys = authentication.apiKeys();
            if (keys != null) {
                removed.add(keys.header());
            }
            if (keys != null || authentication.jwt() != null) {
                removed.add("authorization");
            }
        }
        return config.headers().forwarded().without(removed);
    }
}
