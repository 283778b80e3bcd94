/**
 * Routing tables, and the choice among a route's targets. Tables are immutable and replaced as a whole. Sends nothing.
 */
@NullMarked
package dev.isthmus.gateway.routing;

import org.jspecify.annotations.NullMarked;
