package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Files of the project that are generated from the code. */
final class Generated {
    static final Path ROOT = Path.of(System.getProperty("isthmus.root", ".."));
    private static final String HOW =
            "run the tests of ConfigSchemaTest and ConfigReferenceTest with -Disthmus.regenerate";

    private Generated() {}

    /** Checks that a file matches the generated text; with -Disthmus.regenerate, writes it. */
    static void check(Path file, String expected) throws IOException {
        if (System.getProperty("isthmus.regenerate") != null) {
            Files.writeString(file, expected);
        }
        assertThat(Files.readString(file))
                .as("%s is out of date: %s", file.getFileName(), HOW)
                .isEqualTo(expected);
    }
}
