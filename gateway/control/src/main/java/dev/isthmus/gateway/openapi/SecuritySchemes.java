package dev.isthmus.gateway.openapi;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.settings.AuthenticationConfig;
import dev.isthmus.gateway.settings.AuthenticationConfig.HealthProbes;
import org.jspecify.annotations.Nullable;

/**
 * How callers identify themselves.
 *
 * @param config null if callers are not identified
 */
record SecuritySchemes(@Nullable AuthenticationConfig config) {

    /** Whether probes of the server need no credential where other requests do. */
    boolean openHealth() {
        return config != null && config.health() == HealthProbes.OPEN;
    }

    /**
     * Adds them to a document.
     *
     * @param optional whether requests without a credential are accepted, too
     */
    void addTo(ObjectNode document, boolean optional) {
        if (config == null) {
            return;
        }
        ObjectNode schemes = document.withObject("/components/securitySchemes");
        if (config.apiKeys() != null) {
            schemes.putObject("api_key")
                    .put("type", "apiKey")
                    .put("in", "header")
                    .put("name", config.apiKeys().header());
        }
        if (config.apiKeys() != null || config.jwt() != null) {
            ObjectNode bearer = schemes.putObject("bearer").put("type", "http").put("scheme", "bearer");
            if (config.apiKeys() == null) {
                bearer.put("bearerFormat", "JWT");
            }
        }
        if (config.clientCertificates() != null) {
            schemes.putObject("client_certificate").put("type", "mutualTLS");
        }
        ArrayNode required = document.putArray("security");
        if (optional) {
            required.addObject();
        }
        schemes.fieldNames().forEachRemaining(name -> required.addObject().putArray(name));
    }
}
