package dev.isthmus.gateway.cache;

import dev.isthmus.gateway.net.Labelled;

/** What became of a request to a model with a cache. */
public enum CacheOutcome implements Labelled {
    /** It got a response that was kept. */
    HIT,
    /** It was sent. */
    MISS,
    /** It got the response to an equal request that was being served. */
    COLLAPSED,
    /** It was sent because its client wants a response of its own. */
    REFRESHED,
    /** It may get several responses, and was sent without the cache. */
    STREAM,
    /** It belongs to a sequence, and was sent without the cache. */
    SEQUENCE,
    /** It has tensors in shared memory, and was sent without the cache. */
    SHARED_MEMORY,
    /** It is larger than {@code max_request}, and was sent without the cache. */
    LARGE,
    /** Its key could not be computed, and it was sent without the cache. */
    FAULT
}
