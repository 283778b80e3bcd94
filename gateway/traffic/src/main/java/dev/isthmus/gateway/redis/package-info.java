/**
 * What gateways share in Redis: the counters of rate limits, the states of ramps. The only package that knows Redis and
 * its client. Never blocks an event loop; knows no call and no wire.
 */
@NullMarked
package dev.isthmus.gateway.redis;

import org.jspecify.annotations.NullMarked;
