@NullMarked
package dev.isthmus.bench.faults;

import org.jspecify.annotations.NullMarked;
