package dev.isthmus.gateway.settings;

/** Where a configuration is read anew at each reload. */
@FunctionalInterface
public interface ConfigSource {

    /**
     * Reads it. Blocks.
     *
     * @throws ConfigException when it cannot be read or anything in it is wrong
     */
    GatewayConfig load() throws ConfigException;
}
