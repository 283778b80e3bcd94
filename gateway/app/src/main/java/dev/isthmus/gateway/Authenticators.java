package dev.isthmus.gateway;

import dev.isthmus.gateway.identity.Authenticator;
import dev.isthmus.gateway.metrics.AccessMetrics;
import dev.isthmus.gateway.settings.AuthenticationConfig;
import dev.isthmus.gateway.settings.ConfigException;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;

/** Keeps an authenticator, with the keys that it has, over reloads that do not change its section. */
final class Authenticators {
    private Authenticators() {}

    /**
     * The authenticator of a section: the previous one if the section is the same. Blocks.
     *
     * @throws ConfigException if a file with keys cannot be used
     */
    static @Nullable Authenticator renewed(
            @Nullable Authenticator previous, @Nullable AuthenticationConfig config, AccessMetrics metrics)
            throws ConfigException {
        if (config == null) {
            return null;
        }
        return previous != null && previous.config().equals(config)
                ? previous
                : new Authenticator(config, metrics, InstantSource.system());
    }

    /** Closes an authenticator unless it is still used. */
    static void closeBut(@Nullable Authenticator closed, @Nullable Authenticator used) {
        if (closed != null && closed != used) {
            closed.close();
        }
    }
}
