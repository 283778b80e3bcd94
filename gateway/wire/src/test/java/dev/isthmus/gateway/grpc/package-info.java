/** Tests of gRPC's messages and fields. */
@NullMarked
package dev.isthmus.gateway.grpc;

import org.jspecify.annotations.NullMarked;
