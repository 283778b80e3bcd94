/**
 * Numbers as JSON writes them: read from text into the raw form of elements, and written as the shortest text that reads back
 * the same. Nothing here knows of documents, tensors or their names.
 */
@NullMarked
package dev.isthmus.transcoder.number;

import org.jspecify.annotations.NullMarked;
