/**
 * Where a call goes: tables of routes, and the choice among a route's targets. Immutable tables, swapped whole. Nothing is
 * asked or sent here.
 */
@NullMarked
package dev.isthmus.gateway.routing;

import org.jspecify.annotations.NullMarked;
