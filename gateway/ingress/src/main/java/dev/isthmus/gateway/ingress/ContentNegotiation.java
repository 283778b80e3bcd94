package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.NonFinite;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
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

    /**
     * One value that a client accepts, from a header such as Accept or Accept-Encoding (RFC 9110, 12.4 and 12.5).
     *
     * @param value in lower case
     * @param parameters all but the weight, with names in lower case
     * @param weight in thousandths; 0 if the client refuses the value or the weight is malformed
     */
    private record AcceptedValue(String value, Map<String, String> parameters, int weight) {
        /** The weight of a value without one. */
        static final int MAX_WEIGHT = 1000;

        private static final Pattern WEIGHT = Pattern.compile("0(\\.[0-9]*)?|1(\\.0*)?");

        AcceptedValue {
            parameters = Map.copyOf(parameters);
        }

        /** Parses the values of all fields of one header. */
        static List<AcceptedValue> list(List<String> fields) {
            if (fields.isEmpty()) {
                return List.of();
            }
            if (fields.size() == 1 && plain(fields.getFirst())) {
                return List.of(
                        new AcceptedValue(fields.getFirst().strip().toLowerCase(Locale.ROOT), Map.of(), MAX_WEIGHT));
            }
            List<AcceptedValue> values = new ArrayList<>();
            for (String field : fields) {
                for (String each : split(field, ',')) {
                    if (!each.isEmpty()) {
                        values.add(of(split(each, ';')));
                    }
                }
            }
            return values;
        }

        /** Whether a field is a single value without parameters, as most are. */
        private static boolean plain(String field) {
            return field.indexOf(',') < 0 && field.indexOf(';') < 0;
        }

        private static AcceptedValue of(List<String> parts) {
            Map<String, String> parameters = new HashMap<>();
            int weight = MAX_WEIGHT;
            for (String part : parts.subList(1, parts.size())) {
                int equals = part.indexOf('=');
                String name = part.substring(0, Math.max(equals, 0)).strip().toLowerCase(Locale.ROOT);
                String text = part.substring(equals + 1).strip();
                if (name.equals("q")) {
                    weight = weight(text);
                } else if (!name.isEmpty()) {
                    parameters.putIfAbsent(name, text);
                }
            }
            return new AcceptedValue(parts.getFirst().toLowerCase(Locale.ROOT), parameters, weight);
        }

        private static int weight(String text) {
            return WEIGHT.matcher(text).matches() ? (int) Math.round(Double.parseDouble(text) * MAX_WEIGHT) : 0;
        }

        /** Splits at separators that are not in a quoted string. */
        private static List<String> split(String text, char separator) {
            List<String> parts = new ArrayList<>();
            boolean quoted = false;
            int start = 0;
            for (int i = 0; i < text.length(); i++) {
                char c = text.charAt(i);
                if (c == '"') {
                    quoted = !quoted;
                } else if (c == '\\' && quoted) {
                    i++;
                } else if (c == separator && !quoted) {
                    parts.add(text.substring(start, i).strip());
                    start = i + 1;
                }
            }
            parts.add(text.substring(start).strip());
            return parts;
        }
    }
}
