package dev.isthmus.gateway.cache;

import java.util.HashMap;
import java.util.Map;

/** The header {@code Cache-Status} (RFC 9211): what the cache did with a request. */
final class CacheStatus {
    private static final String NAME = "cache-status";
    private static final String CACHE = "isthmus";

    private CacheStatus() {}

    /** Headers of a response that was kept, with the status. */
    static Map<String, String> hit(Map<String, String> headers, long secondsLeft) {
        return with(headers, CACHE + "; hit; ttl=" + secondsLeft);
    }

    /** Headers of the response to an equal request, with the status. */
    static Map<String, String> collapsed(Map<String, String> headers) {
        return with(headers, CACHE + "; fwd=miss; collapsed");
    }

    /** Of a request that was sent. */
    static Map<String, String> sent(boolean refreshed, boolean stored) {
        return Map.of(NAME, CACHE + "; fwd=" + (refreshed ? "request" : "miss") + (stored ? "; stored" : ""));
    }

    /** Of a request that was sent without the cache. */
    static Map<String, String> bypassed(CacheOutcome reason) {
        return Map.of(NAME, CACHE + "; fwd=bypass; detail=" + reason.label());
    }

    private static Map<String, String> with(Map<String, String> headers, String status) {
        Map<String, String> all = new HashMap<>(headers);
        all.put(NAME, status);
        return Map.copyOf(all);
    }
}
