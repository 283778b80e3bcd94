/** Limits and checks of direct memory. */
@NullMarked
package dev.isthmus.gateway.memory;

import org.jspecify.annotations.NullMarked;
