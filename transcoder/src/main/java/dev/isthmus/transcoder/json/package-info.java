/** JSON independent of the protocol: a strict tokenizer that is fed chunks, readers built on it, and a writer. */
@NullMarked
package dev.isthmus.transcoder.json;

import org.jspecify.annotations.NullMarked;
