/**
 * What a caller may do: the rules of the section {@code access}, or without it, what its listener serves. Judges values
 * of a call; nothing here reads a request or knows credentials.
 *
 * <p>{@code AccessPolicy} decides about a {@code Principal}, a {@code Permission} and a model; {@code ModelGrants}
 * are the rules that apply to one caller.
 */
@NullMarked
package dev.isthmus.gateway.access;

import org.jspecify.annotations.NullMarked;
