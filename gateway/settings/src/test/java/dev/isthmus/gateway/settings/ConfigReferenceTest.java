package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class ConfigReferenceTest {
    private static final String HEADING = "## Reference\n";

    @Test
    void reference_isTheGeneratedOne() throws IOException {
        Path file = Generated.ROOT.resolve("docs/reference/configuration.md");
        String text = Files.readString(file);
        assertThat(text).contains(HEADING);
        String prose = text.substring(0, text.indexOf(HEADING) + HEADING.length());
        Generated.check(file, prose + "\n" + ConfigReference.markdown());
    }
}
