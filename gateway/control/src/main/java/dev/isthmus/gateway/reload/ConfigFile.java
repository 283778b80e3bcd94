package dev.isthmus.gateway.reload;

import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigKeys;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.ConfigSource;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.WatchedFiles;
import java.nio.file.Path;
import java.util.List;

/** A configuration file and its changes. Thread-safe. */
public final class ConfigFile implements ConfigSource {
    private final Path path;
    private final ConfigOverride overrides;
    private final WatchedFiles content;
    private volatile ConfigKeys keys = ConfigKeys.NONE;

    /** What the command line says instead of the file. */
    @FunctionalInterface
    public interface ConfigOverride {
        /**
         * Puts it over a configuration.
         *
         * @throws ConfigException if it does not fit the file's configuration
         */
        GatewayConfig apply(GatewayConfig config) throws ConfigException;
    }

    /** @param overrides applied to the file's settings */
    public ConfigFile(Path path, ConfigOverride overrides) {
        this.path = path;
        this.content = new WatchedFiles(List.of(path), false);
        this.overrides = overrides;
    }

    @Override
    public synchronized GatewayConfig load() throws ConfigException {
        content.loading();
        String text = ConfigLoader.text(path);
        GatewayConfig config = parse(path.toString(), text);
        keys = ConfigKeys.of(text);
        return config;
    }

    @Override
    public ConfigKeys keys() {
        return keys;
    }

    @Override
    public GatewayConfig parse(String name, String text) throws ConfigException {
        GatewayConfig config = ConfigLoader.parse(name, text, ConfigLoader.folder(path));
        return overrides.apply(config.withStateBeside(path.toAbsolutePath()));
    }

    /** Checks whether the file has changed. */
    public WatchedFiles.FileChange check() {
        return content.check();
    }
}
