/** Tests of gRPC message framing and header fields. */
@NullMarked
package dev.isthmus.gateway.grpc;

import org.jspecify.annotations.NullMarked;
