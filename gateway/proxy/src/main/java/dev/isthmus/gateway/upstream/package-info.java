/**
 * What a server behind the gateway looks like from inside: {@link dev.isthmus.gateway.upstream.Upstream}. Its
 * implementations are the packages below; none of them knows ingress.
 */
@NullMarked
package dev.isthmus.gateway.upstream;

import org.jspecify.annotations.NullMarked;
