/**
 * Numbers in JSON text: parsed into raw elements, and written as the shortest text that reads back the same. Nothing
 * here knows about documents or tensors.
 */
@NullMarked
package dev.isthmus.transcoder.number;

import org.jspecify.annotations.NullMarked;
