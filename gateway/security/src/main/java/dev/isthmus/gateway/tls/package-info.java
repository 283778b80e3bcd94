/**
 * TLS of listeners and of connections to servers: contexts from files, which are read again when they change. No
 * requests, no calls.
 *
 * <p>{@code ServerTls} and {@code ClientTls} are the contexts of a listener and of an upstream, behind one atomic
 * reference. {@code TlsRegistry} compares the content of their files every second. A {@code ContextSet} counts
 * references: a replaced context is released with the last connection that uses it.
 */
@NullMarked
package dev.isthmus.gateway.tls;

import org.jspecify.annotations.NullMarked;
