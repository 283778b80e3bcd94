/** Tests of what ingress and the upstreams share of Netty. */
@NullMarked
package dev.isthmus.gateway.net;

import org.jspecify.annotations.NullMarked;
