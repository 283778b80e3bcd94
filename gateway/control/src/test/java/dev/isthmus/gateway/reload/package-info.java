/** Reloads: what triggers them, and that no change is missed. */
@NullMarked
package dev.isthmus.gateway.reload;

import org.jspecify.annotations.NullMarked;
