package dev.isthmus.local.ort;

import ai.onnxruntime.OrtException;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Interprets ONNX Runtime's message for a failed run. */
final class RunFailure {
    private static final String STATUS = "Status Message: ";
    private static final String NODE = "while running ";
    private static final String CONDITION = " was false. ";
    /** "file:line function " of a status, or the function's whole signature after a path. */
    private static final Pattern SOURCE =
            Pattern.compile("^(?:[\\w.]+:\\d+ \\S+ |/\\S+:\\d+ .*?\\)(?: const)?(?: \\[with .*\\])? )", Pattern.DOTALL);
    /** Paths, source files, C++ names and addresses. */
    private static final Pattern INTERNAL =
            Pattern.compile("(?:^|[\\s'\"(:=])/\\w|\\w\\.(?:cc|cpp|cu|cuh|h|hpp)\\b|::|0x[0-9a-fA-F]{6}");

    private RunFailure() {}

    /**
     * The reason why the values of the request are refused, as clients may see it: no paths, nodes or addresses. Null if
     * they are not the cause. An operator does not know whether a client or the model's author chose its operands, so
     * every failure of a node counts as a refusal, except for those of memory and devices.
     */
    static @Nullable String refusal(OrtException e) {
        String message = text(e);
        boolean refused = switch (e.getCode()) {
            case ORT_INVALID_ARGUMENT -> true;
            case ORT_FAIL, ORT_RUNTIME_EXCEPTION -> message.contains(NODE) && message.contains(STATUS);
            default -> false;
        };
        return refused && !ofResources(message) ? reason(message) : null;
    }

    private static boolean ofResources(String message) {
        String text = message.toLowerCase(Locale.ROOT);
        return Stream.of("allocat", "bad_alloc", "out of memory", "cuda", "cudnn", "cublas", "terminate flag")
                .anyMatch(text::contains);
    }

    private static String reason(String message) {
        int status = message.lastIndexOf(STATUS);
        String reason = status < 0 ? message : message.substring(status + STATUS.length());
        int condition = reason.indexOf(CONDITION);
        if (condition >= 0) {
            reason = reason.substring(condition + CONDITION.length());
        } else {
            Matcher source = SOURCE.matcher(reason);
            reason = source.find() ? reason.substring(source.end()) : reason;
        }
        // A word alone is the name of a C function.
        boolean sentence = reason.strip().contains(" ");
        return sentence && !INTERNAL.matcher(reason).find() ? reason.strip() : "the model does not accept the values";
    }

    /** Whether an output did not match the shape of its preallocated memory. */
    static boolean shape(OrtException e) {
        String text = text(e);
        return text.contains("shape verification failed") || text.contains("pre-allocated output");
    }

    private static String text(OrtException e) {
        String message = e.getMessage();
        return message == null ? "" : message;
    }
}
