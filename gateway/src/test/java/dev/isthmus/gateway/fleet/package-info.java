/** Tests of the choice among servers, and of what is known of them. */
@NullMarked
package dev.isthmus.gateway.fleet;

import org.jspecify.annotations.NullMarked;
