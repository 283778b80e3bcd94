/**
 * Responses of a model that are returned to equal requests: what makes requests equal, the responses that are kept, and
 * equal requests that share one call. Does not know routes, layers and the forms of clients: it is between the decoded
 * request of a call and the upstream of its target.
 *
 * <p>{@code ResponseCache} replies with a {@code StoredResponse}, lets a request wait ({@code CollapsedCall}) for the
 * response to an equal one ({@code SharedCall}), or sends it. {@code RequestHasher} makes the key, the same for all
 * forms of a request.
 */
@NullMarked
package dev.isthmus.gateway.cache;

import org.jspecify.annotations.NullMarked;
