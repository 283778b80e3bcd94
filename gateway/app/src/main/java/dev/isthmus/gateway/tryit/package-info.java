/**
 * The page "Try it" of the console: the form of a model, made from its metadata; one request, sent through one of the
 * gateway's own listeners as any client would send it; and what became of it. Nothing here is kept or logged.
 */
@NullMarked
package dev.isthmus.gateway.tryit;

import org.jspecify.annotations.NullMarked;
