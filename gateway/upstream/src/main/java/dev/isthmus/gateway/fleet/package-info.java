/**
 * Load balancing, retries, circuit breaking and outlier ejection over the servers of an upstream. Knows no wire format.
 */
@NullMarked
package dev.isthmus.gateway.fleet;

import org.jspecify.annotations.NullMarked;
