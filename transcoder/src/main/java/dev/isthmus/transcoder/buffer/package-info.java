/** Messages put together of buffers without copying them. Nothing here knows what is in them. */
@NullMarked
package dev.isthmus.transcoder.buffer;

import org.jspecify.annotations.NullMarked;
