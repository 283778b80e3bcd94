/** The client-facing listener: HTTP/1.1, HTTP/2, gRPC and gRPC-Web on raw Netty. Knows no upstream. */
@NullMarked
package dev.isthmus.gateway.ingress;

import org.jspecify.annotations.NullMarked;
