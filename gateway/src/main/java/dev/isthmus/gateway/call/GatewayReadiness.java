package dev.isthmus.gateway.call;

import org.jspecify.annotations.Nullable;

/** Whether the gateway itself takes traffic, however its upstreams are. Asked on any thread. */
@FunctionalInterface
public interface GatewayReadiness {

    /** Why it takes none now, such as "warming up"; null where it does. */
    @Nullable
    String obstacle();
}
