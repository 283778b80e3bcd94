/** Microbenchmarks. The command is in docs/explanation/performance.md. */
@NullMarked
package dev.isthmus.bench;

import org.jspecify.annotations.NullMarked;
