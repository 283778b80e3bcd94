/**
 * One answer out of what several servers say: readiness, metadata, repository index, load and unload, statistics. Values in,
 * values out: no calls, no channels, no threads, no clock. Equal input gives equal output, in the order of the input or sorted.
 */
@NullMarked
package dev.isthmus.gateway.catalogue;

import org.jspecify.annotations.NullMarked;
