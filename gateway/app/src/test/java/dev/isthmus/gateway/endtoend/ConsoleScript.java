package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.Gateway;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A script that uses pages of the console in a real browser. With {@code -Disthmus.screenshots=FOLDER} it writes the
 * pictures of the documentation there.
 */
final class ConsoleScript {
    private ConsoleScript() {}

    /** Runs the script to its end; all its checks must pass. */
    static void run(String name, String... given) throws IOException, InterruptedException {
        List<String> arguments = new ArrayList<>(List.of(given));
        String screenshots = System.getProperty("isthmus.screenshots");
        if (screenshots != null) {
            arguments.add(Files.createDirectories(Path.of(screenshots))
                    .toAbsolutePath()
                    .toString());
        }
        Script.Outcome outcome = Script.run(name, arguments.toArray(String[]::new));
        System.out.println(outcome.text());
        assertThat(outcome.complaint()).isEmpty();
        assertThat(outcome.text()).endsWith("all passed\n");
    }

    /** The admin address. */
    static String url(Gateway gateway) {
        return "http://127.0.0.1:" + gateway.adminAddress().orElseThrow().getPort();
    }
}
