/**
 * What a caller may do: the rules of the section {@code access}, or without it, what its listener serves. Judges values
 * of a call; nothing here reads a request or knows credentials.
 */
@NullMarked
package dev.isthmus.gateway.access;

import org.jspecify.annotations.NullMarked;
