@NullMarked
package dev.isthmus.bench.fuzz;

import org.jspecify.annotations.NullMarked;
