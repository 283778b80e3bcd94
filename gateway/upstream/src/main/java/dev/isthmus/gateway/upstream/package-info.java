/**
 * A server behind the gateway: {@link dev.isthmus.gateway.upstream.Upstream}. The packages below implement it; none of
 * them knows ingress.
 */
@NullMarked
package dev.isthmus.gateway.upstream;

import org.jspecify.annotations.NullMarked;
