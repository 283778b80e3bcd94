/**
 * Routing tables, and the choice among a route's targets. Tables are immutable and replaced as a whole. Sends nothing.
 *
 * <p>{@code RoutingTable.route} finds a model's {@code Route}; {@code Route.pick} chooses target and affinity of a
 * request, {@code Route.decide} says why, for {@code isthmus explain}.
 */
@NullMarked
package dev.isthmus.gateway.routing;

import org.jspecify.annotations.NullMarked;
