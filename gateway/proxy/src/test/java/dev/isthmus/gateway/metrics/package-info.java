/** What the gateway counts and times of itself. */
@NullMarked
package dev.isthmus.gateway.metrics;

import org.jspecify.annotations.NullMarked;
