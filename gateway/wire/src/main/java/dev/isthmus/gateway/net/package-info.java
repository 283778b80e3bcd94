/**
 * Netty code shared by ingress, admin and upstreams: transports, listen addresses, connection limits and timeouts,
 * parsing of HTTP/1.1 requests, limits of responses.
 */
@NullMarked
package dev.isthmus.gateway.net;

import org.jspecify.annotations.NullMarked;
