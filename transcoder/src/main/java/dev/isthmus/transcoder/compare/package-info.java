/**
 * Compares decoded responses output by output, in place. Nothing here knows about wires, or what a difference is used
 * for.
 */
@NullMarked
package dev.isthmus.transcoder.compare;

import org.jspecify.annotations.NullMarked;
