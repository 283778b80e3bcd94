/** Tests of requests that a fallback takes over. */
@NullMarked
package dev.isthmus.gateway.fallback;

import org.jspecify.annotations.NullMarked;
