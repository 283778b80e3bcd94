/** Tests of load balancing, server state and retries. */
@NullMarked
package dev.isthmus.gateway.fleet.kubernetes;

import org.jspecify.annotations.NullMarked;
