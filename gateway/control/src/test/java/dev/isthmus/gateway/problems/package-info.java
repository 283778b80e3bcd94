/** Tests of what is derived from meters, health checks, ramps and reloads. */
@NullMarked
package dev.isthmus.gateway.problems;

import org.jspecify.annotations.NullMarked;
