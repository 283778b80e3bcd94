package dev.isthmus.gateway.reload;

import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.ConfigSource;
import dev.isthmus.gateway.settings.GatewayConfig;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * A configuration file and its changes. Changes are detected by content only: modification time and size miss two
 * writes within one clock tick, and a moved symbolic link. Thread-safe.
 */
public final class ConfigFile implements ConfigSource {
    /** What to do after a check. */
    public enum FileChange {
        /** Nothing: the content is the one last loaded. */
        SAME,
        /** Check again soon: the file may be partly written. */
        UNSETTLED,
        /** Load the file. */
        CHANGED
    }

    /** Bytes read from the file; a valid configuration is smaller. */
    private static final int MAX_BYTES = 16 << 20;
    /** Prefix of the digest of a file that is missing or unreadable. */
    private static final String UNREADABLE = "unreadable: ";

    private final Path path;
    private final ConfigOverride overrides;
    private String loaded = "";
    private String lastSeen = "";

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
        this.overrides = overrides;
    }

    @Override
    public synchronized GatewayConfig load() throws ConfigException {
        // Digest first: anything written from now on is a change.
        loaded = digest();
        return overrides.apply(ConfigLoader.load(path).withStateBeside(path.toAbsolutePath()));
    }

    /**
     * Checks the file. It has changed if two consecutive checks found the same content that is not loaded; becoming
     * unreadable is a change, too.
     */
    public synchronized FileChange check() {
        String digest = digest();
        if (digest.equals(loaded)) {
            lastSeen = "";
            return FileChange.SAME;
        }
        boolean settled = digest.equals(lastSeen);
        lastSeen = settled ? "" : digest;
        return settled ? FileChange.CHANGED : FileChange.UNSETTLED;
    }

    private String digest() {
        try (InputStream in = Files.newInputStream(path)) {
            byte[] content = in.readNBytes(MAX_BYTES);
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
        } catch (IOException e) {
            return UNREADABLE + e;
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }
}
