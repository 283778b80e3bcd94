@NullMarked
package dev.isthmus.bench.sizing;

import org.jspecify.annotations.NullMarked;
