package dev.isthmus.gateway.settings;

/** The source from which each reload reads the configuration. */
@FunctionalInterface
public interface ConfigSource {

    /**
     * Reads the configuration. Blocks.
     *
     * @throws ConfigException if it cannot be read or is invalid
     */
    GatewayConfig load() throws ConfigException;
}
