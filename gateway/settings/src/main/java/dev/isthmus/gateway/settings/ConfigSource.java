package dev.isthmus.gateway.settings;

import java.nio.file.Path;

/** The source from which each reload reads the configuration. */
@FunctionalInterface
public interface ConfigSource {

    /**
     * Reads the configuration. Blocks.
     *
     * @throws ConfigException if it cannot be read or is invalid
     */
    GatewayConfig load() throws ConfigException;

    /** The keys that the text of the last configuration has, as far as it has one. */
    default ConfigKeys keys() {
        return ConfigKeys.NONE;
    }

    /**
     * What {@link #load()} would return if the source had this text. Blocks: it reads files that the text names.
     *
     * @param name of the text in messages
     * @throws ConfigException if it is invalid
     */
    default GatewayConfig parse(String name, String text) throws ConfigException {
        return ConfigLoader.parse(name, text, Path.of("").toAbsolutePath());
    }
}
