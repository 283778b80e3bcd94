/**
 * What a gateway costs in front of a large fleet: start, memory, health checks, reloads, metrics and calls, with as many
 * models and servers as wanted. All servers are in one process, on loopback. Explained in docs/explanation/sizing.md.
 */
@NullMarked
package dev.isthmus.bench.sizing;

import org.jspecify.annotations.NullMarked;
