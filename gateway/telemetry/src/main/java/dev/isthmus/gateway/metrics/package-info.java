/**
 * The gateway's metrics: the registry, and the meters of calls, connections and reloads. Label values come from the
 * configuration and from fixed sets, never from clients. A component registers its internal metrics itself. Everything
 * is exported from one registry, in Prometheus' format and over OTLP.
 */
@NullMarked
package dev.isthmus.gateway.metrics;

import org.jspecify.annotations.NullMarked;
