/** Tests of the choice among servers, of what is known of them, and of what is tried again. */
@NullMarked
package dev.isthmus.gateway.fleet;

import org.jspecify.annotations.NullMarked;
