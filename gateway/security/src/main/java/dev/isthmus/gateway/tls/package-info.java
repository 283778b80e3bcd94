/**
 * TLS of listeners and of connections to servers: contexts from files, which are read again when they change. No
 * requests, no calls.
 */
@NullMarked
package dev.isthmus.gateway.tls;

import org.jspecify.annotations.NullMarked;
