/**
 * When a configuration is reloaded: the watched files, and the signal that requests it. Does not know how it is applied.
 */
@NullMarked
package dev.isthmus.gateway.reload;

import org.jspecify.annotations.NullMarked;
