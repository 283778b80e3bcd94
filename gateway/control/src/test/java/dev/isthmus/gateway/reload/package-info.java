/** Reloads: what triggers them, and that they lose nothing. */
@NullMarked
package dev.isthmus.gateway.reload;

import org.jspecify.annotations.NullMarked;
