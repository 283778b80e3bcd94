/**
 * Load and faults: what becomes of requests when upstreams die, stop, fail, or when the configuration changes. Each part runs
 * in a process of its own, on loopback. What the figures mean and the command are in docs/explanation/faults.md. No
 * microbenchmarks here.
 */
@NullMarked
package dev.isthmus.bench.faults;

import org.jspecify.annotations.NullMarked;
