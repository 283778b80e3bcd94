/**
 * The warm-up: a gateway of its own between a client and a server, all in this process and on loopback, handles
 * requests until they no longer become faster. Invisible to the user's clients, servers, metrics and limits.
 */
@NullMarked
package dev.isthmus.gateway.warm;

import org.jspecify.annotations.NullMarked;
