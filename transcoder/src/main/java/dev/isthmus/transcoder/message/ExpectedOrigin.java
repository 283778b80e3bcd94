package dev.isthmus.transcoder.message;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What a response has to repeat of its request, if it says so at all. One that says something else is the response to
 * another request: the server, or something before it, is out of step.
 *
 * @param model empty if the response may be of any
 * @param id empty if the response may have any
 */
public record ExpectedOrigin(String model, String id) {
    /** Of any request. */
    public static final ExpectedOrigin ANY = new ExpectedOrigin("", "");

    /** A version, as some servers append it: Seldon Core answers "iris_1" for "iris". */
    private static final Pattern VERSION = Pattern.compile("[_:/@.-]v?[0-9.]+");

    /**
     * That of a request.
     *
     * @param server its dialect
     */
    public static ExpectedOrigin of(Dialect server, String model, String id) {
        return new ExpectedOrigin(server.repeatsModel() ? model : "", server.repeatsId(id) ? id : "");
    }

    /** What the server has done wrong, as the end of a sentence that begins with it; null if nothing is wrong. */
    public @Nullable String violation(ResponseOrigin actual) {
        if (!id.isEmpty() && !actual.id().isEmpty() && !actual.id().equals(id)) {
            return "sent a response with the id of another request: '" + id + "' is expected";
        }
        if (!model.isEmpty() && !actual.model().isEmpty() && !isModel(actual.model())) {
            return "sent a response of another model: '" + model + "' is expected";
        }
        return null;
    }

    private boolean isModel(String actual) {
        return actual.regionMatches(true, 0, model, 0, model.length())
                && (actual.length() == model.length()
                        || VERSION.matcher(actual.substring(model.length())).matches());
    }
}
