/** Tests of the gRPC upstream against real loopback servers. */
@NullMarked
package dev.isthmus.gateway.upstream.grpc;

import org.jspecify.annotations.NullMarked;
