/**
 * What ingress and the upstreams share of Netty: which transport an event loop runs on. No protocol, no handler.
 */
@NullMarked
package dev.isthmus.gateway.net;

import org.jspecify.annotations.NullMarked;
