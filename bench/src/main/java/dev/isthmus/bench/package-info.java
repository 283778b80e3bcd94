/** Microbenchmarks. The commands are in bench/NOTES.md and docs/explanation/performance.md. */
@NullMarked
package dev.isthmus.bench;

import org.jspecify.annotations.NullMarked;
