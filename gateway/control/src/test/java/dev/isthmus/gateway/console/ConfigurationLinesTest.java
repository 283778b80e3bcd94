package dev.isthmus.gateway.console;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.console.ConfigurationPage.ConfigurationLines;
import dev.isthmus.gateway.settings.ConfigKeys;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The effective configuration as the page shows it. */
class ConfigurationLinesTest {
    private static List<Object> lines(Map<String, Object> document, ConfigKeys keys) {
        return ConfigurationLines.of(document, keys).stream()
                .map(line -> line.get("text"))
                .toList();
    }

    private static List<Object> lines(String key, Object value) {
        return lines(Map.of(key, value), ConfigKeys.NONE);
    }

    @Test
    void sectionsInLists_areIndentedBelowADash() {
        Map<String, Object> listener = new LinkedHashMap<>();
        listener.put("host", "localhost");
        listener.put("port", 0);
        assertThat(lines("listeners", List.of(listener)))
                .containsExactly("listeners:", "  -", "    host: localhost", "    port: 0");
    }

    @Test
    void valuesOfOneLine() {
        assertThat(lines("none", Map.of())).containsExactly("none: {}");
        assertThat(lines("names", List.of("a", "b c"))).containsExactly("names: [a, \"b c\"]");
        Map<String, Object> missing = new LinkedHashMap<>();
        missing.put("file", null);
        assertThat(lines(missing, ConfigKeys.NONE)).containsExactly("file: none");
    }

    @Test
    void textThatYamlWouldReadOtherwise_isQuoted() {
        assertThat(lines("a", "x: y")).containsExactly("a: \"x: y\"");
        assertThat(lines("a", "say \"\\\"")).containsExactly("a: \"say \\\"\\\\\\\"\"");
        assertThat(lines("a", "two\nlines")).containsExactly("a: \"two?lines\"");
        assertThat(lines("a", "")).containsExactly("a: \"\"");
    }

    @Test
    void usersOfUrls_areLeftOut() {
        assertThat(lines("url", "redis://user:secret@cache:6379/0"))
                .containsExactly("url: \"redis://...@cache:6379/0\"");
    }

    @Test
    void linesOfTheFile_areMarked() {
        ConfigKeys keys = new ConfigKeys(Set.of(List.of("limits"), List.of("limits", "max_hops")));
        Map<String, Object> limits = new LinkedHashMap<>();
        limits.put("max_hops", 3);
        limits.put("max_tensors", 10);
        assertThat(ConfigurationLines.of(Map.of("limits", limits), keys))
                .extracting(line -> line.get("set"))
                .containsExactly(true, true, false);
    }
}
