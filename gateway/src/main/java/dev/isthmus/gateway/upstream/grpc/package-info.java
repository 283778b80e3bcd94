/**
 * An upstream that speaks gRPC. The only package that sees gRPC's types.
 */
@NullMarked
package dev.isthmus.gateway.upstream.grpc;

import org.jspecify.annotations.NullMarked;
