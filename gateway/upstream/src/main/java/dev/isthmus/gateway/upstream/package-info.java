/**
 * A server behind the gateway: {@link dev.isthmus.gateway.upstream.Upstream}. The packages below implement it; none of
 * them knows ingress.
 *
 * <p>All that is asked of a server is an {@code UpstreamRequest}, which {@code Upstream.send} takes; only streams are
 * opened otherwise ({@code inferStream}).
 */
@NullMarked
package dev.isthmus.gateway.upstream;

import org.jspecify.annotations.NullMarked;
