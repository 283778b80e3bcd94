/** Tests of the Netty code shared by ingress and upstreams. */
@NullMarked
package dev.isthmus.gateway.net;

import org.jspecify.annotations.NullMarked;
