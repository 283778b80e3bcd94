package dev.isthmus.gateway.upstream;

import java.util.Set;

/**
 * What a route does with an inference: answer it, change it, send it twice, later, or elsewhere. A route has a list of
 * them, each around the next one and the last around the target's upstream. Thread-safe.
 */
public interface RouteService extends AutoCloseable {
    /** As the configuration names it. */
    String name();

    /**
     * The service in front of what is behind it. Called once for each target of a configuration, never for a call.
     *
     * @param inner not closed with the result
     */
    Upstream around(Upstream inner);

    /** Whether it serves the calls that the route's fallback takes over, too. */
    default boolean servesFallback() {
        return true;
    }

    /** Models of these upstreams were loaded or have changed. */
    default void modelsChanged(Set<Upstream> upstreams) {}

    /** Calls under way continue. */
    @Override
    default void close() {}
}
