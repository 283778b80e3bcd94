/**
 * JSON as such: a strict tokenizer that is fed chunks, what is built on it alone, and a writer. Nothing here knows what a
 * document of the protocol looks like.
 */
@NullMarked
package dev.isthmus.transcoder.json;

import org.jspecify.annotations.NullMarked;
