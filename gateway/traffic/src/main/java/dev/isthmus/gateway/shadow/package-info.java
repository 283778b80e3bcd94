/**
 * Shadow traffic: copies of calls for servers whose responses no client sees, and the comparison of those responses
 * with the primary ones. Must never delay or fail a primary call. No channel types.
 *
 * <p>{@code Shadows.begin} copies a call that was just sent, on its event loop, one task later. {@code ShadowCopies}
 * passes the primary response to the copies; it is compared on the one thread {@code isthmus-compare}.
 */
@NullMarked
package dev.isthmus.gateway.shadow;

import org.jspecify.annotations.NullMarked;
