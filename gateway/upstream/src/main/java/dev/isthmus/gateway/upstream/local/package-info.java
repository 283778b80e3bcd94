/** The local backend as an upstream. */
@NullMarked
package dev.isthmus.gateway.upstream.local;

import org.jspecify.annotations.NullMarked;
