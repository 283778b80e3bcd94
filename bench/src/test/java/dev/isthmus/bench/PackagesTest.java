package dev.isthmus.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.bench.process.Scratch;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import org.junit.jupiter.api.Test;

/** What the gateway's ArchitectureTest, which cannot see the benches, says of all other modules. */
class PackagesTest {
    private static final String OURS = "dev\\.isthmus\\.bench[.\\w]*";
    private static final Pattern ARROW = Pattern.compile("(?m)^ +(" + OURS + ") +-> (" + OURS + ")\\b");

    @Test
    void packages_haveNoCycles() throws Exception {
        Map<String, Set<String>> uses = new HashMap<>();
        ARROW.matcher(jdeps())
                .results()
                .forEach(arrow -> uses.computeIfAbsent(arrow.group(1), from -> new HashSet<>())
                        .add(arrow.group(2)));
        assertThat(uses).isNotEmpty();
        for (String one : uses.keySet()) {
            assertThat(reached(one, uses)).as("what %s uses", one).doesNotContain(one);
        }
    }

    private static String jdeps() throws Exception {
        Path classes = Path.of(Scratch.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
        StringWriter out = new StringWriter();
        PrintWriter printer = new PrintWriter(out);
        int status = ToolProvider.findFirst("jdeps")
                .orElseThrow()
                .run(printer, printer, "--ignore-missing-deps", "-verbose:package", "-e", OURS, classes.toString());
        assertThat(status).as(out.toString()).isZero();
        return out.toString();
    }

    private static Set<String> reached(String from, Map<String, Set<String>> uses) {
        Set<String> all = new HashSet<>();
        reach(from, uses, all);
        return all;
    }

    private static void reach(String from, Map<String, Set<String>> uses, Set<String> all) {
        for (String used : uses.getOrDefault(from, Set.of())) {
            if (all.add(used)) {
                reach(used, uses, all);
            }
        }
    }
}
