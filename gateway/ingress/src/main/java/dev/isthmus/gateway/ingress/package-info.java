/**
 * The client-facing listener: HTTP/1.1, HTTP/2, gRPC and gRPC-Web on raw Netty. Knows no upstream.
 *
 * <p>An {@code HttpExchange} is one request and its response over any version of HTTP: {@code RestExchange} and {@code
 * GrpcExchange} are calls, {@code PreflightExchange} is a browser's question. {@code RestExchange} writes to a {@code
 * ResponseWriter}, {@code GrpcExchange} to a {@code GrpcTransport}. {@code ConnectionTimer} is the only timer of a
 * connection, {@code ConnectionDrain} its end. {@code ForwardingHeaders} and {@code ProxyProtocolHandler} say whom a
 * request comes from if a trusted proxy sent it.
 */
@NullMarked
package dev.isthmus.gateway.ingress;

import org.jspecify.annotations.NullMarked;
