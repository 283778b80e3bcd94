/** Tests of joined requests, in front of servers on loopback. */
@NullMarked
package dev.isthmus.gateway.batching;

import org.jspecify.annotations.NullMarked;
