/** Millions of numbers through the JSON codec, each compared with the JDK's parser and printer. Not a benchmark. */
@NullMarked
package dev.isthmus.bench.corpus;

import org.jspecify.annotations.NullMarked;
