/**
 * An upstream that speaks gRPC: a client of gRPC over HTTP/2 and its connections. The wire formats are in {@code
 * dev.isthmus.gateway.grpc} and {@code dev.isthmus.gateway.http2}.
 *
 * <p>A {@code GrpcConnectionPool} (one server, one event loop) has {@code GrpcConnection}s. A {@code GrpcCall} is one
 * stream on one; it keeps the rules of gRPC and the deadline ({@code CallTimeout} in the pool's {@code TimeoutQueue}).
 * {@code UnaryCall} and {@code StreamCall} read its messages.
 */
@NullMarked
package dev.isthmus.gateway.upstream.grpc;

import org.jspecify.annotations.NullMarked;
