/** HTTP/2 frames as bytes, for clients and servers that violate the protocol. Connections do not belong here. */
@NullMarked
package dev.isthmus.bench.http2;

import org.jspecify.annotations.NullMarked;
