/**
 * HTTP/2 (RFC 9113) on one channel, as server or client: one channel handler, with streams as plain objects on the
 * channel's event loop. Semantics of requests and responses, including gRPC, do not belong here.
 */
@NullMarked
package dev.isthmus.gateway.http2;

import org.jspecify.annotations.NullMarked;
