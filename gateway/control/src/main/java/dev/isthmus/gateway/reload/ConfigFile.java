package dev.isthmus.gateway.reload;

import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigKeys;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.ConfigSource;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.WatchedFiles;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** The files of a configuration, those that their values come from included, and their changes. Thread-safe. */
public final class ConfigFile implements ConfigSource {
    /** How often a load begins again because other files belong to it than before. */
    private static final int MAX_LOADS = 3;

    private final List<Path> paths;
    private final ConfigOverride overrides;
    private final WatchedFiles content;
    private volatile Set<Path> read;
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

    /**
     * Reads these files, and the files of these folders.
     *
     * @param overrides applied to the files' settings
     */
    public ConfigFile(List<Path> paths, ConfigOverride overrides) {
        this.paths = List.copyOf(paths);
        this.overrides = overrides;
        read = Set.copyOf(ConfigLoader.files(paths));
        content = new WatchedFiles(this::files, false);
    }

    /** What belongs to the configuration now: files may have been added to its folders. */
    private List<Path> files() {
        Set<Path> all = new TreeSet<>(read);
        all.addAll(ConfigLoader.files(paths));
        return List.copyOf(all);
    }

    @Override
    public synchronized GatewayConfig load() throws ConfigException {
        for (int left = MAX_LOADS; ; left--) {
            Set<Path> before = read;
            content.loading();
            Set<Path> files = new TreeSet<>();
            try {
                ConfigLoader.LoadedConfig loaded = ConfigLoader.load(paths, files);
                read = Set.copyOf(files);
                if (left == 1 || read.equals(before)) {
                    keys = loaded.keys();
                    return completed(loaded.config());
                }
            } catch (ConfigException e) {
                read = Set.copyOf(files);
                if (left == 1 || read.equals(before)) {
                    throw e;
                }
            }
        }
    }

    @Override
    public ConfigKeys keys() {
        return keys;
    }

    @Override
    public GatewayConfig parse(String name, String text) throws ConfigException {
        return completed(ConfigLoader.parse(name, text, ConfigLoader.folder(paths.getFirst())));
    }

    private GatewayConfig completed(GatewayConfig config) throws ConfigException {
        return overrides.apply(config.withStateBeside(paths.getFirst().toAbsolutePath()));
    }

    /** Checks whether a file has changed. */
    public WatchedFiles.FileChange check() {
        return content.check();
    }
}
