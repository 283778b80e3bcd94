/**
 * One answer out of what several servers say: readiness, metadata, repository index, load and unload, statistics. Merging is
 * values in, values out: equal input gives equal output, in the order of the input or sorted. {@code Catalogue} asks the
 * servers in the background on one event loop and publishes what they say; no channels here, and no client's request.
 */
@NullMarked
package dev.isthmus.gateway.catalogue;

import org.jspecify.annotations.NullMarked;
