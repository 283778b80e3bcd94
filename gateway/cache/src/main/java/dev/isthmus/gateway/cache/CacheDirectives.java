package dev.isthmus.gateway.cache;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What a client asks of the cache with {@code Cache-Control} (RFC 9111, 5.2.1). Directives that are not here have no
 * effect.
 *
 * @param refresh {@code no-cache} or {@code max-age=0}: it wants a response of its own
 * @param noStore {@code no-store}: its response is not to be kept
 */
record CacheDirectives(boolean refresh, boolean noStore) {
    private static final CacheDirectives NONE = new CacheDirectives(false, false);

    /** Those of a header; null if the client has sent none. */
    static CacheDirectives of(@Nullable String header) {
        if (header == null) {
            return NONE;
        }
        boolean refresh = false;
        boolean noStore = false;
        for (String each : header.toLowerCase(Locale.ROOT).split(",", -1)) {
            String directive = each.strip();
            refresh |= directive.equals("no-cache") || directive.equals("max-age=0");
            noStore |= directive.equals("no-store");
        }
        return new CacheDirectives(refresh, noStore);
    }
}
