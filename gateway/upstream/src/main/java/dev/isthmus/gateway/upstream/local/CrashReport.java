package dev.isthmus.gateway.upstream.local;

import dev.isthmus.local.call.RunningModels.RunningModel;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the JVM has written about a crash.
 *
 * @param lines of its summary; none if it wrote nothing
 * @param thread the name of the thread that crashed; empty if it is not one of Java's
 */
record CrashReport(List<String> lines, String thread) {
    private static final Pattern THREAD = Pattern.compile("Current thread .* JavaThread \"([^\"]*)\".*");
    private static final Pattern SIGNAL = Pattern.compile("#\\s+(SIG[A-Z]+).*");

    static CrashReport of(Path file) throws IOException {
        if (!Files.exists(file)) {
            return new CrashReport(List.of(), "");
        }
        // It has bytes of native code, too.
        List<String> all =
                Files.readString(file, StandardCharsets.ISO_8859_1).lines().toList();
        return new CrashReport(
                all.stream().takeWhile(line -> line.startsWith("#")).toList(),
                all.stream()
                        .map(THREAD::matcher)
                        .filter(Matcher::matches)
                        .map(found -> found.group(1))
                        .findFirst()
                        .orElse(""));
    }

    /** Why the process ended. */
    String cause(String end) {
        return lines.stream()
                .map(SIGNAL::matcher)
                .filter(Matcher::matches)
                .map(found -> found.group(1))
                .findFirst()
                .orElse(end);
    }

    /** The models that may be the cause: of the thread that crashed or, if it runs none, of all threads. */
    List<RunningModel> blamed(List<RunningModel> running) {
        List<RunningModel> ofThread =
                running.stream().filter(each -> each.thread().equals(thread)).toList();
        return ofThread.isEmpty() ? running : ofThread;
    }

    /** The summary for the log; empty if there is none. */
    String text() {
        return lines.isEmpty()
                ? ""
                : ": "
                        + String.join(
                                " ",
                                lines.stream()
                                        .map(line -> line.substring(1).strip())
                                        .filter(line -> !line.isEmpty())
                                        .toList());
    }
}
