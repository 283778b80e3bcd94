/**
 * An upstream that speaks gRPC: a client of gRPC over HTTP/2 and its connections. The wire formats are in {@code
 * dev.isthmus.gateway.grpc} and {@code dev.isthmus.gateway.http2}.
 */
@NullMarked
package dev.isthmus.gateway.upstream.grpc;

import org.jspecify.annotations.NullMarked;
