package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** The commands of {@code conformance}. */
final class Script {
    private static final Path FOLDER = Path.of(System.getProperty("isthmus.root", ".."))
            .toAbsolutePath()
            .normalize()
            .resolve("conformance");

    private Script() {}

    /**
     * The result of a command.
     *
     * @param text its output, including errors
     */
    record Outcome(List<String> command, int status, String text) {
        String lastLine() {
            List<String> lines = text.lines().filter(line -> !line.isBlank()).toList();
            return lines.isEmpty() ? "" : lines.getLast();
        }

        /** The command and its output, if it failed; otherwise empty. */
        String complaint() {
            return status == 0 ? "" : "exit status " + status + " of " + String.join(" ", command) + "\n" + text;
        }
    }

    static Path path(String name) {
        return FOLDER.resolve(name);
    }

    /** Runs a script of the folder to its end. */
    static Outcome run(String name, String... arguments) throws IOException, InterruptedException {
        return run(
                Map.of(),
                Stream.concat(Stream.of(path(name).toString()), Stream.of(arguments))
                        .toList());
    }

    static Outcome run(Map<String, String> environment, List<String> command) throws IOException, InterruptedException {
        Path output = Files.createTempFile("isthmus-script", ".out");
        try {
            ProcessBuilder builder =
                    new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
            builder.environment().putAll(environment);
            builder.environment().put("PYTHONDONTWRITEBYTECODE", "1");
            Process process = builder.start();
            if (!process.waitFor(20, TimeUnit.MINUTES)) {
                process.descendants().forEach(ProcessHandle::destroyForcibly);
                process.destroyForcibly();
            }
            return new Outcome(command, process.waitFor(), Files.readString(output));
        } finally {
            Files.delete(output);
        }
    }

    /** Ends a server that a test has started. */
    static void stop(Process process) {
        process.destroy();
        try {
            if (!process.waitFor(20, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    /** Runs the tests of a folder with the official clients: all must pass, and none may be skipped. */
    static void pytest(String folder, Map<String, String> environment, String... options)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(clientPython(), "-m", "pytest", "-q", "-p", "no:cacheprovider"));
        command.addAll(List.of("--strict-markers", "--durations=5", path(folder).toString()));
        command.addAll(List.of(options));
        Outcome report = run(environment, command);
        System.out.println(report.text());
        assertThat(report.complaint()).isEmpty();
        assertThat(report.text()).contains(" passed").doesNotContain("skipped");
    }

    /** The Python that has the official clients. */
    static String clientPython() throws IOException, InterruptedException {
        return folder("client", run("install.sh", "client"))
                .resolve("bin/python")
                .toString();
    }

    /** The folder of a component, from the installer's output {@code NAME=FOLDER}. */
    static Path folder(String name, Outcome installed) {
        return installed
                .text()
                .lines()
                .filter(line -> installed.status() == 0 && line.startsWith(name + "="))
                .map(line -> Path.of(line.substring(name.length() + 1)))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException(installed.text()));
    }
}
