@NullMarked
package dev.isthmus.bench.corpus;

import org.jspecify.annotations.NullMarked;
