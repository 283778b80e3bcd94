package dev.isthmus.gateway.console;

import dev.isthmus.gateway.catalogue.Catalogue;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.settings.GatewayConfig;

/**
 * The configuration in effect and what was made from it.
 *
 * @param generation 1 at the start
 * @param loadedNanos when it was loaded, on the scale of {@link System#nanoTime()}
 */
public record RunningConfiguration(
        long generation, long loadedNanos, GatewayConfig config, RoutingTable routes, Catalogue catalogue) {}
