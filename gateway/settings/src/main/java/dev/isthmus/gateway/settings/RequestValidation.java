package dev.isthmus.gateway.settings;

/** What happens to an inference request that does not match the metadata of its model. */
public enum RequestValidation {
    /** It is refused. */
    STRICT,
    /** It is counted and logged, and sent. */
    REPORT,
    /** Nothing: requests are not compared with metadata. */
    OFF;

    /** Whether requests for any model are compared with its metadata. */
    public static boolean isConfigured(GatewayConfig config) {
        return config.validate() != OFF
                || config.models().values().stream()
                        .anyMatch(model -> model.validate() != null && model.validate() != OFF);
    }
}
