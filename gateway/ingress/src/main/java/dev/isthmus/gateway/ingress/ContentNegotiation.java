package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.NonFinite;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Content negotiation: by weight, and by the most specific media range that matches (RFC 9110, 12.5). */
final class ContentNegotiation {
    private static final int NOT_NAMED = -1;
    private static final String EVENTS = "text/event-stream";
    private static final String NON_FINITE = "nonfinite";

    private ContentNegotiation() {}

    /** Whether the response to an inference is server-sent events. With equal weights they must be named explicitly. */
    static boolean events(List<String> accept) {
        if (accept.isEmpty()) {
            return false;
        }
        List<AcceptedValue> values = AcceptedValue.list(accept);
        int events = weight(values, EVENTS, "text/*", "*/*");
        int whole = Math.max(
                weight(values, "application/json", "application/*", "*/*"),
                weight(values, "application/octet-stream", "application/*", "*/*"));
        return events > 0 && (events > whole || (events == whole && weight(values, EVENTS) == events));
    }

    /** How NaN and the infinities are written, from a parameter of the Accept header; null if it does not say. */
    static @Nullable NonFinite nonFinite(List<String> accept) {
        for (AcceptedValue value : AcceptedValue.list(accept)) {
            String form = value.parameters().get(NON_FINITE);
            if (form != null && value.weight() > 0) {
                return nonFinite(form);
            }
        }
        return null;
    }

    private static NonFinite nonFinite(String form) {
        for (NonFinite each : NonFinite.values()) {
            if (each.name().toLowerCase(Locale.ROOT).equals(form.toLowerCase(Locale.ROOT))) {
                return each;
            }
        }
        throw OipException.invalid("header Accept: nonfinite is one of token, null, string, error; got '" + form + "'");
    }

    /**
     * The content coding of a compressible response; null for none. With equal weights the first one that the gateway
     * supports.
     */
    static @Nullable ContentCoding coding(List<String> acceptEncoding) {
        if (acceptEncoding.isEmpty()) {
            return null;
        }
        List<AcceptedValue> values = AcceptedValue.list(acceptEncoding);
        int max = Math.max(0, weight(values, "identity", "*") - 1);
        ContentCoding chosen = null;
        for (ContentCoding coding : ContentCoding.values()) {
            int weight = weight(values, coding.token(), "x-" + coding.token(), "*");
            if (weight > max) {
                max = weight;
                chosen = coding;
            }
        }
        return chosen;
    }

    /** The weight of the first of these names, most specific first, that the client lists. */
    private static int weight(List<AcceptedValue> values, String... names) {
        for (String name : names) {
            int max = NOT_NAMED;
            for (AcceptedValue value : values) {
                if (value.value().equals(name)) {
                    max = Math.max(max, value.weight());
                }
            }
            if (max != NOT_NAMED) {
                return max;
            }
        }
        return NOT_NAMED;
    }
}
