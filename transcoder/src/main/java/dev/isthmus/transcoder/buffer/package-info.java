/** Joins buffers without copying them. Nothing here knows their content. */
@NullMarked
package dev.isthmus.transcoder.buffer;

import org.jspecify.annotations.NullMarked;
