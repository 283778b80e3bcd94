/**
 * One view of all servers: readiness, metadata, repository index, load and unload, statistics. Merging is pure: equal
 * input gives equal output, in input order or sorted. {@code Catalogue} polls the servers in the background on one
 * event loop and publishes the results. No channels, and no client requests.
 *
 * <p>{@code SignatureTable} has what servers declare of their models, in a map that calls read without a lock.
 */
@NullMarked
package dev.isthmus.gateway.catalogue;

import org.jspecify.annotations.NullMarked;
