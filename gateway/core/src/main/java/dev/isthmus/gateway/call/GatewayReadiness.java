package dev.isthmus.gateway.call;

import org.jspecify.annotations.Nullable;

/** Whether the gateway itself works and accepts traffic, independent of its upstreams. Thread-safe. */
@FunctionalInterface
public interface GatewayReadiness {

    /** Why it does not accept traffic now, such as "warming up"; null if it does. */
    @Nullable
    String obstacle();

    /** Whether it is shutting down: it serves what has begun, and never becomes ready again. */
    default boolean ending() {
        return false;
    }

    /** Why it has failed and needs a restart; null if it has not. */
    default @Nullable String failure() {
        return null;
    }
}
