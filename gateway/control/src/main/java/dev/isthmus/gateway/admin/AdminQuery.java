package dev.isthmus.gateway.admin;

import dev.isthmus.oip.OipException;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The query parameters of a request: each at most once, and none but the expected ones. */
public final class AdminQuery {
    private static final long MAX_NUMBER = 999_999_999_999_999_999L;

    private final Map<String, List<String>> values;

    private AdminQuery(Map<String, List<String>> values) {
        this.values = values;
    }

    /**
     * The parameters of a request.
     *
     * @param expected their names
     * @throws OipException INVALID_ARGUMENT for another one, or one that is given twice
     */
    public static AdminQuery of(AdminRequest request, String... expected) {
        request.query().forEach((name, all) -> {
            if (!List.of(expected).contains(name)) {
                throw invalid(
                        name, expected.length == 0 ? "no parameter" : "one of " + String.join(", ", expected), name);
            }
            if (all.size() > 1) {
                throw invalid(name, "one value", String.join(", ", all));
            }
        });
        return new AdminQuery(request.query());
    }

    /** An error: "parameter 'seconds': a whole number from 1 to 300 is expected, got 'x'". */
    public static OipException invalid(String name, String expectation, String value) {
        return OipException.invalid("parameter '" + name + "': " + expectation + " is expected, got '" + value + "'");
    }

    private @Nullable String value(String name) {
        List<String> all = values.get(name);
        return all == null ? null : all.getFirst();
    }

    /** A text; the default if it is missing. */
    public String text(String name, String byDefault) {
        String value = value(name);
        return value == null ? byDefault : value;
    }

    /**
     * One of several words.
     *
     * @throws OipException INVALID_ARGUMENT for any other value
     */
    public String oneOf(String name, String byDefault, String... words) {
        String value = text(name, byDefault);
        if (!List.of(words).contains(value)) {
            throw invalid(name, "one of " + String.join(", ", words), value);
        }
        return value;
    }

    /**
     * A whole number.
     *
     * @throws OipException INVALID_ARGUMENT for any other value
     */
    public int integer(String name, int from, int to, int byDefault) {
        return (int) number(name, from, to, byDefault);
    }

    /** As {@link #integer}, the number {@code after} which a list goes on; 0 for its beginning. */
    public long after() {
        return number("after", 0, MAX_NUMBER, 0);
    }

    private long number(String name, long from, long to, long byDefault) {
        String value = value(name);
        if (value == null) {
            return byDefault;
        }
        long number = value.matches("[0-9]{1,18}") ? Long.parseLong(value) : -1;
        if (number < from || number > to) {
            throw invalid(name, "a whole number from " + from + " to " + to, value);
        }
        return number;
    }
}
