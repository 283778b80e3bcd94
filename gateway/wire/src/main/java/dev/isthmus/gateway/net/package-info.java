/**
 * What ingress, admin and the upstreams share of Netty: the transport of an event loop, the reading of HTTP/1.1 requests.
 */
@NullMarked
package dev.isthmus.gateway.net;

import org.jspecify.annotations.NullMarked;
