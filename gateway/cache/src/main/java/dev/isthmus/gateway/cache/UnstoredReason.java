package dev.isthmus.gateway.cache;

import dev.isthmus.gateway.net.Labelled;

/** Why a response was not kept. */
enum UnstoredReason implements Labelled {
    /** It is larger than {@code max_response}. */
    LARGE,
    /** The memory for all caches is in use. */
    MEMORY,
    /** The model was purged while it was being served. */
    PURGED,
    /** Its client does not want it to be kept. */
    NO_STORE,
    /** Its server means it for one client: it sets a cookie, or says so in {@code Cache-Control} or {@code Vary}. */
    PRIVATE
}
