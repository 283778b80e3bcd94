/**
 * Compares decoded answers, output by output, as they lie in their buffers. Nothing here knows of wires, nor of what a
 * difference is good for.
 */
@NullMarked
package dev.isthmus.transcoder.compare;

import org.jspecify.annotations.NullMarked;
