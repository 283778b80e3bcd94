package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import dev.isthmus.gateway.endtoend.RedisServer;
import dev.isthmus.gateway.settings.TestAuthority;
import dev.isthmus.gateway.settings.TestConfigs;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a gateway depends on, there or not; a real Redis. Rights in Kubernetes are checked in KubernetesTest. */
class CheckCommandTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final byte[] METADATA =
            "{\"name\":\"triton\",\"version\":\"2.5\",\"extensions\":[]}".getBytes(StandardCharsets.UTF_8);

    @TempDir
    Path folder = Path.of(".");

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int check(String yaml, String... further) throws IOException {
        Path file = Files.writeString(folder.resolve("f.yaml"), yaml);
        List<String> all = new ArrayList<>(List.of("check", "--config", file.toString()));
        all.addAll(List.of(further));
        return run(all.toArray(String[]::new));
    }

    private int run(String... arguments) {
        out.getBuffer().setLength(0);
        return IsthmusCommand.run(new Console(new PrintWriter(out), new PrintWriter(err), () -> false), arguments);
    }

    /** A server that says that it is Triton, whatever it is asked. */
    private static HttpServer triton() throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            exchange.getRequestBody().readAllBytes();
            exchange.sendResponseHeaders(200, METADATA.length);
            try (var to = exchange.getResponseBody()) {
                to.write(METADATA);
            }
        });
        server.start();
        return server;
    }

    @Test
    void allThatIsThere_isGood() throws Exception {
        TestAuthority authority = new TestAuthority(folder, "own");
        TestAuthority.Issued issued = authority.issue("gateway", "127.0.0.1");
        HttpServer triton = triton();
        try (RedisServer redis = RedisServer.start(folder)) {
            String server = "127.0.0.1:" + triton.getAddress().getPort();
            int code =
                    check("""
                    listeners: [{port: 0, tls: {certificates: [{certificate: "%s", key: "%s"}]}}]
                    shared: "redis://127.0.0.1:%d"
                    upstreams: {t: {protocol: rest, endpoints: ["%s"]}}
                    default_upstream: t
                    """.formatted(issued.certificate(), issued.key(), redis.port(), server), "--timeout", "1m");
            assertThat(code).as(out.toString() + err).isZero();
            assertThat(out.toString().lines())
                    .anyMatch(line -> line.matches("CHECK +SUBJECT +RESULT +DETAIL"))
                    .anyMatch(line -> line.matches("configuration +.*f.yaml +ok"))
                    .anyMatch(line -> line.matches(
                            "certificate +" + issued.certificate() + " +ok +'.*' 36[45] days left, until .*"))
                    .anyMatch(line -> line.matches("redis +Redis at .* ok +answers, and takes what is written"))
                    .anyMatch(line -> line.matches("clock +Redis at .* ok +here \\d\\.\\d s (ahead of|behind) it"))
                    .anyMatch(line -> line.matches(
                            "server +t " + server + " +ok +rest, dialect triton \\(its name 'triton'\\), triton 2.5"))
                    .anyMatch(line -> line.matches("version +isthmus .* ok +commit .*, JDK 25.*"));
        } finally {
            triton.stop(0);
        }
    }

    @Test
    void whatIsMissing_hasFailed_theRestIsChecked() throws Exception {
        TestAuthority.Issued expired = new TestAuthority(folder, "own").expired("gateway", "127.0.0.1");
        String nobody = TestConfigs.unusedEndpoint().authority();
        assertThat(check("""
                listeners: [{port: 0, tls: {certificates: [{certificate: "%s", key: "%s"}]}}]
                shared: "redis://%s"
                upstreams: {t: {protocol: rest, endpoints: ["%s"]}}
                default_upstream: t
                """.formatted(expired.certificate(), expired.key(), nobody, nobody), "-o", "json"))
                .isEqualTo(1);
        JsonNode document = JSON.readTree(out.toString());
        assertThat(document.path("good").asBoolean(true)).isFalse();
        assertThat(details(document, "certificate", "failed")).contains("has expired on ");
        assertThat(details(document, "redis", "failed")).contains("Unable to connect to ");
        assertThat(details(document, "server", "failed")).contains("upstream 't', server " + nobody + " is not ready");
        assertThat(details(document, "configuration", "ok")).isEmpty();
        assertThat(details(document, "version", "ok")).contains("JDK 25");
        assertThat(document.path("servers").path(0).path("protocol").asText()).isEqualTo("rest");
    }

    private static String details(JsonNode document, String check, String result) {
        List<String> found = document.path("checks")
                .valueStream()
                .filter(row -> row.path("check").asText().equals(check))
                .peek(row -> assertThat(row.path("result").asText()).isEqualTo(result))
                .map(row -> row.path("detail").asText())
                .toList();
        assertThat(found).as(document.toString()).hasSize(1);
        return found.getFirst();
    }

    @Test
    void redisThatNeverAnswers_isSaidAfterTheTimeout() throws Exception {
        try (ServerSocket mute = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            assertThat(check("""
                    shared: "redis://127.0.0.1:%d"
                    local: {embedded_models: true}
                    default_upstream: local
                    """.formatted(mute.getLocalPort()), "--timeout", "300ms", "-o", "json"))
                    .isEqualTo(1);
            assertThat(details(JSON.readTree(out.toString()), "redis", "failed"))
                    .contains("no response in time");
        }
    }

    @Test
    void apiServerThatIsAway_isSaid() throws Exception {
        TestAuthority authority = new TestAuthority(folder, "cluster");
        Files.writeString(folder.resolve("token"), "t");
        assertThat(check("""
                kubernetes: {api_server: "https://%s", ca_file: "%s", token_file: token}
                upstreams: {t: {protocol: grpc, connect_timeout: 1s, endpoints: ["k8s:ml/triton:grpc"]}}
                default_upstream: t
                """.formatted(TestConfigs.unusedEndpoint().authority(), authority.ca()), "-o", "json"))
                .isEqualTo(1);
        JsonNode document = JSON.readTree(out.toString());
        assertThat(details(document, "kubernetes", "failed")).contains("refused");
        assertThat(details(document, "certificate", "ok")).contains("days left");
    }

    @Test
    void withoutConfiguration_whatServeWouldServe_isChecked() {
        assertThat(run("check", "--timeout", "1m")).as(out.toString() + err).isZero();
        assertThat(out.toString().lines())
                .anyMatch(line -> line.matches("configuration +embedded +ok"))
                .anyMatch(line -> line.matches("server +local local +ok +in the gateway's process, .*"));
    }

    @Test
    void refusedConfiguration_isSaid() throws IOException {
        assertThat(check("modles: {}\n")).isEqualTo(2);
        assertThat(out.toString()).contains("failed", "f.yaml:1:1: unknown key 'modles'");
        assertThat(run("check", "--config", folder.resolve("none.yaml").toString()))
                .isEqualTo(2);
        assertThat(out.toString()).contains("none.yaml", "failed");
    }
}
