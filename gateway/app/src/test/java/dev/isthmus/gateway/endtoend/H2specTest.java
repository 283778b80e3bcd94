package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.TestAuthority;
import dev.isthmus.gateway.settings.TestAuthority.Issued;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** h2spec, which checks servers against the RFCs of HTTP/2 and HPACK: all of its cases pass. */
class H2specTest {
    private static final String TIMEOUT_SECONDS = "10";

    @TempDir
    Path folder = Path.of("");

    /**
     * A path that serves GET, which h2spec sends, and one that accepts POST only and so responds before a request has
     * ended.
     */
    @ParameterizedTest
    @ValueSource(strings = {"/v2/health/live", "/v2/models/digits/infer"})
    void everyCase_passes(String path) throws Exception {
        expectAllPassed(path, "{port: 0}", List.of());
    }

    @ParameterizedTest
    @ValueSource(strings = {"/v2/health/live", "/v2/models/digits/infer"})
    void everyCase_passesOverTls(String path) throws Exception {
        Issued issued = new TestAuthority(folder, "ca").issue("server", "localhost");
        String files = "{certificate: '%s', key: '%s'}".formatted(issued.certificate(), issued.key());
        expectAllPassed(path, "{port: 0, tls: {certificates: [" + files + "]}}", List.of("-t", "-k"));
    }

    private static void expectAllPassed(String path, String listener, List<String> options) throws Exception {
        String h2spec = Script.folder("h2spec", Script.run("install.sh", "h2spec"))
                .resolve("h2spec")
                .toString();
        try (Gateway gateway = TestGateways.start("""
                listeners: [%s]
                default_upstream: local
                local: {embedded_models: true}
                """.formatted(listener))) {
            String port = Integer.toString(gateway.addresses().getFirst().getPort());
            List<String> command =
                    new ArrayList<>(List.of(h2spec, "-h", "127.0.0.1", "-p", port, "-P", path, "-o", TIMEOUT_SECONDS));
            command.addAll(options);
            Script.Outcome outcome = Script.run(Map.of(), command);
            assertThat(outcome.complaint()).isEmpty();
            assertThat(outcome.lastLine()).isEqualTo("145 tests, 145 passed, 0 skipped, 0 failed");
        }
    }
}
