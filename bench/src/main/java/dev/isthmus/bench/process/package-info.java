/**
 * The processes and folders that a bench makes, and that end with it. Nothing that is measured.
 */
@NullMarked
package dev.isthmus.bench.process;

import org.jspecify.annotations.NullMarked;
