/**
 * Netty code shared by ingress, admin and upstreams: transports, listen addresses, connection limits and timeouts,
 * targets of requests, limits of responses.
 */
@NullMarked
package dev.isthmus.gateway.net;

import org.jspecify.annotations.NullMarked;
