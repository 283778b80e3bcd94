/**
 * HTTP/2 (RFC 9113) over one channel, as server or as client: one channel handler, streams as plain objects on the
 * channel's event loop. What a request or response means, gRPC included, must not be here.
 */
@NullMarked
package dev.isthmus.gateway.http2;

import org.jspecify.annotations.NullMarked;
