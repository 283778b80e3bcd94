/**
 * Responses of a model that are returned to equal requests: what makes requests equal, the responses that are kept, and
 * equal requests that share one call. Does not know routes, layers and the forms of clients: it is between the decoded
 * request of a call and the upstream of its target.
 */
@NullMarked
package dev.isthmus.gateway.cache;

import org.jspecify.annotations.NullMarked;
