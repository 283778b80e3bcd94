/**
 * An upstream that speaks V2 REST over HTTP/1.1.
 *
 * <p>A {@code RestConnectionPool} (one server, one event loop) has {@code RestConnection}s. {@code ResponseCollector}
 * gathers a response, or passes it on in parts.
 */
@NullMarked
package dev.isthmus.gateway.upstream.rest;

import org.jspecify.annotations.NullMarked;
