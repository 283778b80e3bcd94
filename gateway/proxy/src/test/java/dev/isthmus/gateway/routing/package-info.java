/** What the tests of routing share. */
@NullMarked
package dev.isthmus.gateway.routing;

import org.jspecify.annotations.NullMarked;
