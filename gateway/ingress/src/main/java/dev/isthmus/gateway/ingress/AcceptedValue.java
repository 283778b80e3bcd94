package dev.isthmus.gateway.ingress;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * One value that a client accepts, from a header such as Accept or Accept-Encoding (RFC 9110, 12.4 and 12.5).
 *
 * @param value in lower case
 * @param parameters all but the weight, with names in lower case
 * @param weight in thousandths; 0 if the client refuses the value or the weight is malformed
 */
record AcceptedValue(String value, Map<String, String> parameters, int weight) {
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
            return List.of(new AcceptedValue(fields.getFirst().strip().toLowerCase(Locale.ROOT), Map.of(), MAX_WEIGHT));
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
