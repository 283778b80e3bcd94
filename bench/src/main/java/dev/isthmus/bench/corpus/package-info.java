/** Numbers by the million through the JSON codec, each compared with the platform's parser and printer. No measuring. */
@NullMarked
package dev.isthmus.bench.corpus;

import org.jspecify.annotations.NullMarked;
