package dev.isthmus.local.ort;

import ai.onnxruntime.OrtException;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Extracts from ONNX Runtime's message why it refuses a model, for the operator who wrote or exported it. */
final class LoadFailure {
    /** ONNX Runtime's source file, line and function, as in "/onnxruntime_src/a/b.cc:195 void f(int) ". */
    private static final Pattern SOURCE = Pattern.compile("\\S*\\.(?:cc|h|cpp|cuh?):\\d+\\s*");

    private static final Pattern CODE = Pattern.compile("^Error code - ORT_\\w+ - message: ");
    /** An absolute path, as it stands in messages about files of weights. */
    private static final Pattern PATH = Pattern.compile("\"(/[^\"]*)\"|\\[(/[^\\]]*)\\]|(?<= in )(/[^,]*)");

    private static final Pattern SPACE = Pattern.compile("\\s+");
    private static final int MAX = 500;

    private LoadFailure() {}

    /** @param folder the folder of the model's files; null if it has none */
    static String reason(OrtException e, @Nullable Path folder) {
        String message = e.getMessage() == null ? "" : e.getMessage();
        String text =
                CODE.matcher(SPACE.matcher(message).replaceAll(" ").strip()).replaceFirst("");
        String reason =
                SOURCE.matcher(withoutPaths(text, folder)).replaceAll("").strip();
        return reason.length() > MAX ? reason.substring(0, MAX) + "…" : reason;
    }

    /** Paths in the model's folder are named relative to it, others are left out. */
    private static String withoutPaths(String text, @Nullable Path folder) {
        return folder == null || !text.contains(folder.toString())
                ? text
                : PATH.matcher(text)
                        .replaceAll(found -> Matcher.quoteReplacement(
                                described(Path.of(found.group().replaceAll("[\"\\[\\]]", "")), folder)));
    }

    private static String described(Path path, Path folder) {
        if (path.equals(folder)) {
            return "the version's folder";
        }
        return path.startsWith(folder) ? "'" + folder.relativize(path) + "'" : "a path outside of it";
    }
}
