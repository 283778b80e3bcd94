/** Tests of the gateway's metrics. */
@NullMarked
package dev.isthmus.gateway.metrics;

import org.jspecify.annotations.NullMarked;
