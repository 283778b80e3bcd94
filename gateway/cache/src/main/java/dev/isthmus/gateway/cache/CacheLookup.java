package dev.isthmus.gateway.cache;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.upstream.Upstream;

/**
 * A request whose response may be kept.
 *
 * @param priority only requests of the same one share a call: in a queue, a call has the place of its first request
 * @param id of the request; empty if it has none
 */
record CacheLookup(
        Call call,
        CacheKey key,
        long priority,
        CacheDirectives directives,
        Upstream upstream,
        Reply reply,
        String id,
        String served) {}
