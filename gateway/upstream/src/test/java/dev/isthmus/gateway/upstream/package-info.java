/** Fixtures of the upstream tests. */
@NullMarked
package dev.isthmus.gateway.upstream;

import org.jspecify.annotations.NullMarked;
