package dev.isthmus.gateway.call;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which headers of one response may be given to several clients: those about the model. Any other may belong to the
 * request that was sent, as ids, traces and times do.
 */
public final class SharedHeaders {
    /** Those of CloudEvents less {@code ce-id} and {@code ce-requestid}, which MLServer sets to the request's id. */
    private static final Set<String> OF_MODEL = Set.of(
            "ce-endpoint",
            "ce-inferenceservicename",
            "ce-modelid",
            "ce-namespace",
            "ce-source",
            "ce-specversion",
            "ce-type",
            "content-language");

    private SharedHeaders() {}

    /**
     * Whether a response with these headers is meant for one client, and for no other: it sets a cookie, or forbids to
     * keep it (RFC 9111, section 5.2.2; RFC 9110, section 12.5.5).
     *
     * @param headers with lower-case names
     */
    public static boolean isOfOneClient(Map<String, String> headers) {
        return headers.containsKey("set-cookie")
                || lists(headers.get("cache-control"), "no-store")
                || lists(headers.get("cache-control"), "private")
                || lists(headers.get("vary"), "*");
    }

    /** Whether a comma-separated list has this lower-case member, with or without an argument. */
    private static boolean lists(@Nullable String list, String member) {
        return list != null
                && Arrays.stream(list.toLowerCase(Locale.ROOT).split(",", -1))
                        .map(String::strip)
                        .anyMatch(each -> each.equals(member) || each.startsWith(member + "="));
    }

    /**
     * The headers that each client may get.
     *
     * @param headers with lower-case names; not changed
     */
    public static Map<String, String> of(Map<String, String> headers) {
        Map<String, String> shared = new HashMap<>(headers);
        shared.keySet().retainAll(OF_MODEL);
        return Map.copyOf(shared);
    }
}
