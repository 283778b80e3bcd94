/**
 * The parts of gRPC over HTTP/2 that ingress and upstreams share: message framing, grpc-timeout, grpc-message, names of
 * header fields, and the forms of gRPC-Web. Connections and the contents of messages do not belong here.
 */
@NullMarked
package dev.isthmus.gateway.grpc;

import org.jspecify.annotations.NullMarked;
