/**
 * The warm-up: a gateway of its own, between a client and a server of its own, all in this process and on loopback, is kept
 * busy until requests take no less time any more. Nothing of it is seen by the user's clients, servers, metrics or limits.
 */
@NullMarked
package dev.isthmus.gateway.warm;

import org.jspecify.annotations.NullMarked;
