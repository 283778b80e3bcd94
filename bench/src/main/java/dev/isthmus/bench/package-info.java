/** Microbenchmarks. The command is in docs/performance.md. */
@NullMarked
package dev.isthmus.bench;

import org.jspecify.annotations.NullMarked;
