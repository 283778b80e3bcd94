package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.Gateway;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The programs of docs/guides/python.md work, with the client that the guide installs, and print what it shows. */
class PythonGuideTest {
    private static final Pattern PROGRAM = Pattern.compile("(?s)```python\n(.*?)```\n\n```text\n(.*?)\n```");

    @TempDir
    Path folder = Path.of(".");

    @Test
    void programs_printWhatTheGuideShows() throws Exception {
        String guide = Files.readString(Script.path("../docs/guides/python.md"));
        List<MatchResult> programs = PROGRAM.matcher(guide).results().toList();
        assertThat(programs).hasSize(guide.split("```python", -1).length - 1);
        try (Gateway gateway = TestGateways.start("""
                listeners: [{port: 0}]
                local: {embedded_models: true}
                default_upstream: local
                health: {warm_up: 0s}
                """)) {
            TestGateways.awaitReady(gateway);
            String address = "127.0.0.1:" + gateway.addresses().get(0).getPort();
            for (MatchResult program : programs) {
                Path file = Files.writeString(
                        folder.resolve("program.py"), program.group(1).replace("127.0.0.1:8080", address));
                Script.Outcome run = Script.run(Map.of(), List.of(Script.clientPython(), file.toString()));
                assertThat(run.complaint()).isEmpty();
                assertThat(run.text().strip()).isEqualTo(program.group(2).strip());
            }
        }
    }
}
