/**
 * Resolves names to addresses and reads the metrics that servers publish, on event loops. Does not choose among
 * servers.
 */
@NullMarked
package dev.isthmus.gateway.fleet.discovery;

import org.jspecify.annotations.NullMarked;
