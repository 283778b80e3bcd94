package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The tables of docs/reference/metrics.md are made from what a gateway exports, which is all that there is. */
class MetricsDocumentedTest {
    private static final Path ROOT = Path.of(System.getProperty("isthmus.root", ".."));
    private static final String HEADING = "## Reference\n";

    @TempDir
    Path folder;

    @Test
    void reference_isTheGeneratedOne_andComplete() throws Exception {
        MetricsReference exported;
        try (MonitoredGateway gateway = MonitoredGateway.start(folder)) {
            gateway.load(4);
            exported = new MetricsReference(gateway.scrape());
        }
        Path file = ROOT.resolve("docs/reference/metrics.md");
        String text = Files.readString(file);
        String page = text.substring(0, text.indexOf(HEADING) + HEADING.length()) + "\n" + exported.markdown();
        if (System.getProperty("isthmus.regenerate") != null) {
            Files.writeString(file, page);
        }
        assertThat(Files.readString(file))
                .as("docs/reference/metrics.md is out of date: run this test with -Disthmus.regenerate")
                .isEqualTo(page);
        assertThat(inCode())
                .allSatisfy(name -> assertThat(exported.names())
                        .as("the gateway of this test exports %s", name)
                        .anyMatch(each ->
                                each.replaceAll("_(total|seconds|bytes)", "").equals(name)));
    }

    /** Names of meters in the code, also of those that are registered only when something happens. */
    private static Set<String> inCode() throws IOException {
        Set<String> names = new TreeSet<>();
        Pattern literal = Pattern.compile("\"(isthmus\\.[a-z0-9.]*[a-z0-9])\"");
        try (Stream<Path> files = Files.walk(ROOT.resolve("gateway"))) {
            for (Path file : files.filter(each -> each.toString().matches(".*/src/main/java/.*\\.java"))
                    .toList()) {
                if (!Files.readString(file).contains("import io.micrometer")) {
                    continue;
                }
                names.addAll(literal.matcher(Files.readString(file))
                        .results()
                        .map(found -> found.group(1).replace('.', '_').replaceAll("_(total|seconds|bytes)", ""))
                        .collect(Collectors.toSet()));
            }
        }
        return names;
    }
}
