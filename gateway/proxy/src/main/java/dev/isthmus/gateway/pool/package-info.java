/** The upstreams of a configuration, made as it says or shared with the configuration before. Knows no call. */
@NullMarked
package dev.isthmus.gateway.pool;

import org.jspecify.annotations.NullMarked;
