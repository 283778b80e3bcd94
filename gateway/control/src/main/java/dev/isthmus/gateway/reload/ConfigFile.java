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
import java.util.function.UnaryOperator;

/**
 * A configuration file, and whether there is something new in it. It is looked at by its content alone: times and sizes say
 * nothing when a file is written in place twice within a tick of the clock, and little when a link to it is moved. May be
 * used by any thread.
 */
public final class ConfigFile implements ConfigSource {
    /** What is to be done after a look. */
    public enum FileChange {
        /** Nothing: it is as it was when it was last loaded. */
        SAME,
        /** It must be seen once more, soon: it may be half written. */
        UNSETTLED,
        /** It is to be loaded. */
        CHANGED
    }

    /** Of a file; more cannot be a configuration. */
    private static final int MOST = 16 << 20;
    /** Begins what stands for the content of a file that is not there or cannot be read. */
    private static final String UNREADABLE = "unreadable: ";

    private final Path path;
    private final UnaryOperator<GatewayConfig> overrides;
    private String loaded = "";
    private String lastSeen = "";

    /** @param overrides what is to be put over what the file says */
    public ConfigFile(Path path, UnaryOperator<GatewayConfig> overrides) {
        this.path = path;
        this.overrides = overrides;
    }

    @Override
    public synchronized GatewayConfig load() throws ConfigException {
        // First the digest: what is written from now on is a change.
        loaded = digest();
        return overrides.apply(ConfigLoader.load(path).withStateBeside(path.toAbsolutePath()));
    }

    /**
     * Looks at the file. It has changed when two looks at a time found the same, which was not loaded yet; that it cannot be
     * read any more is a change, too.
     */
    public synchronized FileChange look() {
        String now = digest();
        if (now.equals(loaded)) {
            lastSeen = "";
            return FileChange.SAME;
        }
        boolean settled = now.equals(lastSeen);
        lastSeen = settled ? "" : now;
        return settled ? FileChange.CHANGED : FileChange.UNSETTLED;
    }

    private String digest() {
        try (InputStream in = Files.newInputStream(path)) {
            byte[] content = in.readNBytes(MOST);
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
        } catch (IOException e) {
            return UNREADABLE + e;
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }
}
