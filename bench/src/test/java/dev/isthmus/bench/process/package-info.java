@NullMarked
package dev.isthmus.bench.process;

import org.jspecify.annotations.NullMarked;
