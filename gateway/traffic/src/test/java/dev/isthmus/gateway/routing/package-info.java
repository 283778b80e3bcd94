/** Fixtures of the routing tests. */
@NullMarked
package dev.isthmus.gateway.routing;

import org.jspecify.annotations.NullMarked;
