/**
 * Faults under load: the outcome of requests while upstream servers die, hang or fail, or while the configuration
 * changes; and attacks. Each part runs in its own process, on loopback. Commands and figures are explained in
 * docs/internals/faults.md. Microbenchmarks do not belong here.
 */
@NullMarked
package dev.isthmus.bench.faults;

import org.jspecify.annotations.NullMarked;
