/**
 * Which upstream serves a model. Immutable tables, swapped whole.
 */
@NullMarked
package dev.isthmus.gateway.routing;

import org.jspecify.annotations.NullMarked;
