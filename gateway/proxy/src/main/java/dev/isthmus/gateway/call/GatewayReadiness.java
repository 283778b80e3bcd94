package dev.isthmus.gateway.call;

import org.jspecify.annotations.Nullable;

/** Whether the gateway itself works and takes traffic, however its upstreams are. Asked on any thread. */
@FunctionalInterface
public interface GatewayReadiness {

    /** Why it takes none now, such as "warming up"; null where it does. */
    @Nullable
    String obstacle();

    /** Why it does not work, and will not before it is started anew; null where it does. */
    default @Nullable String failure() {
        return null;
    }
}
