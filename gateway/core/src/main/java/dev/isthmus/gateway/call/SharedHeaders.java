package dev.isthmus.gateway.call;

import java.util.HashMap;
import java.util.Map;

/** Which headers of one response may be given to several clients. */
public final class SharedHeaders {
    private static final String COOKIE = "set-cookie";

    private SharedHeaders() {}

    /**
     * Whether a response with these headers is meant for one client, and for no other.
     *
     * @param headers with lower-case names
     */
    public static boolean isOfOneClient(Map<String, String> headers) {
        return headers.containsKey(COOKIE);
    }

    /**
     * The headers without those that make it a response of one client.
     *
     * @param headers with lower-case names; not changed
     */
    public static Map<String, String> of(Map<String, String> headers) {
        if (!isOfOneClient(headers)) {
            return headers;
        }
        Map<String, String> shared = new HashMap<>(headers);
        shared.remove(COOKIE);
        return shared;
    }
}
