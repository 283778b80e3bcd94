/**
 * Load balancing, retries, circuit breaking and outlier ejection over the servers of an upstream. Knows no wire format.
 *
 * <p>A {@code Cluster} is the servers of one upstream, {@code CircuitBreakers} and {@code CallQueue} say whether a
 * call may begin, an {@code UpstreamCall} is its attempts, a {@code ReplicaSet} its servers, a {@code Replica} what is
 * known of one.
 */
@NullMarked
package dev.isthmus.gateway.fleet;

import org.jspecify.annotations.NullMarked;
