package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.ConfigLoader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** docs/reference/metrics.md lists exactly the metrics that exist. */
class MetricsDocumentedTest {
    private static final Path ROOT = Path.of(System.getProperty("isthmus.root", ".."));
    private static final String CONFIG = """
            listeners: [{port: 0}]
            admin: {port: 0}
            upstreams:
              t:
                protocol: grpc
                endpoints: ["127.0.0.1:1"]
                balance: {policy: queue_aware}
            local: {embedded_models: true}
            models:
              digits:
                targets:
                  - {name: old, upstream: local, weight: 90}
                  - {name: new, upstream: local, weight: 10}
                shadow:
                  - {name: next, upstream: local}
                ramp: {target: new, steps: [10%, 50%]}
                rates:
                  - {requests_per_second: 1000}
            payload_log: {url: "http://127.0.0.1:1/"}
            default_upstream: t
            """;

    private static Set<String> found(String pattern, String text) {
        return Pattern.compile(pattern, Pattern.MULTILINE)
                .matcher(text)
                .results()
                .map(result -> result.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static Set<String> documented() throws IOException {
        return found("`((?:isthmus|process)_[a-z_]+)[`{]", Files.readString(ROOT.resolve("docs/reference/metrics.md")));
    }

    private static Set<String> exposed() throws Exception {
        byte[] sample = Files.readAllBytes(ROOT.resolve("local-backend/src/main/resources/models/digits/sample.json"));
        try (Gateway gateway = Gateway.start(ConfigLoader.parse("f.yaml", CONFIG, ROOT));
                HttpClient client = HttpClient.newHttpClient()) {
            String address = "http://127.0.0.1:" + gateway.addresses().get(0).getPort();
            URI infer = URI.create(address + "/v2/models/digits/infer");
            HttpRequest request = HttpRequest.newBuilder(infer)
                    .POST(HttpRequest.BodyPublishers.ofByteArray(sample))
                    .build();
            assertThat(client.send(request, BodyHandlers.ofString()).statusCode())
                    .isEqualTo(200);
            URI metrics = URI.create(
                    "http://127.0.0.1:" + gateway.adminAddress().orElseThrow().getPort() + "/metrics");
            String text = client.send(HttpRequest.newBuilder(metrics).build(), BodyHandlers.ofString())
                    .body();
            return found("^# TYPE ((?:isthmus|process)_[a-z_]+?)(?:_max)? ", text);
        }
    }

    @Test
    void whatALoadedGatewayExposes_isDocumented() throws Exception {
        assertThat(documented()).containsAll(exposed());
    }

    /** Some are registered only when the counted event happens: their names are found in the code. */
    @Test
    void whatIsDocumented_isThere() throws Exception {
        Set<String> inCode = new TreeSet<>();
        try (Stream<Path> files = Files.walk(ROOT.resolve("gateway"))) {
            for (Path file : files.filter(each -> each.toString().matches(".*/src/main/java/.*\\.java"))
                    .toList()) {
                inCode.addAll(found("\"(isthmus\\.[a-z.]+)\"", Files.readString(file)));
            }
        }
        Set<String> names = inCode.stream().map(name -> name.replace('.', '_')).collect(Collectors.toSet());
        Set<String> exposed = exposed();
        assertThat(documented())
                .allSatisfy(name -> assertThat(exposed.contains(name)
                                || names.contains(name)
                                || names.contains(name.replaceAll("_(total|seconds|bytes)$", "")))
                        .as(name)
                        .isTrue());
    }
}
