package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.NonFinite;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** What a client wants its answer as: by weight, and by the most specific of what it names (RFC 9110, 12.5). */
final class ContentNegotiation {
    private static final int NOT_NAMED = -1;
    private static final String EVENTS = "text/event-stream";
    private static final String NON_FINITE = "nonfinite";

    private ContentNegotiation() {}

    /** Whether an inference is answered with server-sent events: of two that are wanted alike, where they are named. */
    static boolean events(List<String> accept) {
        List<AcceptedValue> values = AcceptedValue.list(accept);
        int events = weight(values, EVENTS, "text/*", "*/*");
        int whole = Math.max(
                weight(values, "application/json", "application/*", "*/*"),
                weight(values, "application/octet-stream", "application/*", "*/*"));
        return events > 0 && (events > whole || (events == whole && weight(values, EVENTS) == events));
    }

    /** How NaN and the infinities are written, by a parameter of the header Accept; null where it does not say. */
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

    /** The coding of an answer that is large enough; null for none. Of two that are wanted alike the first that we know. */
    static @Nullable ContentCoding coding(List<String> acceptEncoding) {
        List<AcceptedValue> values = AcceptedValue.list(acceptEncoding);
        int most = Math.max(0, weight(values, "identity", "*") - 1);
        ContentCoding chosen = null;
        for (ContentCoding coding : ContentCoding.values()) {
            int weight = weight(values, coding.token(), "x-" + coding.token(), "*");
            if (weight > most) {
                most = weight;
                chosen = coding;
            }
        }
        return chosen;
    }

    /** The weight of the first of these names, the most specific one first, that the client says. */
    private static int weight(List<AcceptedValue> values, String... names) {
        for (String name : names) {
            int most = NOT_NAMED;
            for (AcceptedValue value : values) {
                if (value.value().equals(name)) {
                    most = Math.max(most, value.weight());
                }
            }
            if (most != NOT_NAMED) {
                return most;
            }
        }
        return NOT_NAMED;
    }
}
