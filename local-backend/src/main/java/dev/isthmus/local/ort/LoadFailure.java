package dev.isthmus.local.ort;

import ai.onnxruntime.OrtException;
import java.util.regex.Pattern;

/** Extracts from ONNX Runtime's message why it refuses a model, for the operator who wrote or exported it. */
final class LoadFailure {
    /** ONNX Runtime's source file, line and function, as in "/onnxruntime_src/a/b.cc:195 void f(int) ". */
    private static final Pattern SOURCE = Pattern.compile("\\S*/\\S*\\.(?:cc|h|cpp|cuh?):\\d+\\s*");

    private static final Pattern CODE = Pattern.compile("^Error code - ORT_\\w+ - message: ");
    private static final Pattern SPACE = Pattern.compile("\\s+");
    private static final int MAX = 500;

    private LoadFailure() {}

    static String reason(OrtException e) {
        String message = e.getMessage() == null ? "" : e.getMessage();
        String text =
                CODE.matcher(SPACE.matcher(message).replaceAll(" ").strip()).replaceFirst("");
        String reason = SOURCE.matcher(text).replaceAll("").strip();
        return reason.length() > MAX ? reason.substring(0, MAX) + "…" : reason;
    }
}
