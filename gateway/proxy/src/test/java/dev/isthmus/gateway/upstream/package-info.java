/** What the tests of all upstreams share. */
@NullMarked
package dev.isthmus.gateway.upstream;

import org.jspecify.annotations.NullMarked;
