package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.logging.CapturedLog;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.TestAuthority;
import dev.isthmus.gateway.settings.TestConfigs;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The commands that call a running gateway, and the completion of commands. */
class FleetCommandsTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @SuppressWarnings("InlineFormatString") // is read more easily on its own
    private static final String CONFIG = """
            listeners: [{port: 0}]
            admin: {port: 0, token_file: token%s}
            health: {warm_up: 0s}
            local: {embedded_models: true}
            upstreams: {gone: {protocol: grpc, endpoints: ["%s"]}}
            models:
              digits:
                targets: [{name: old, upstream: local, weight: 100}, {name: new, upstream: gone, weight: 0}]
                ramp: {target: new, steps: [1%%], interval: 10m}
                shadow: [{upstream: gone}]
                cache: {ttl: 1m}
              lost: {upstream: gone}
            default_upstream: local
            """;

    @TempDir
    Path folder = Path.of(".");

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private Gateway start(String tls) throws Exception {
        Path token = Files.writeString(folder.resolve("token"), "a-long-secret\n");
        Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-------"));
        String yaml = CONFIG.formatted(
                tls, "127.0.0.1:" + TestConfigs.unusedEndpoint().port());
        return Gateway.start(ConfigLoader.parse("test.yaml", yaml, folder));
    }

    private int run(String... arguments) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        return IsthmusCommand.run(
                new Console(new PrintWriter(out), new PrintWriter(err, true), () -> false), arguments);
    }

    private int ask(Gateway gateway, String command, String... further) {
        List<String> arguments = new ArrayList<>(List.of(
                command,
                "--admin",
                "http://127.0.0.1:" + gateway.adminAddress().orElseThrow().getPort()));
        arguments.addAll(List.of(further));
        return run(arguments.toArray(String[]::new));
    }

    @Test
    void servers_areListedWithTheirHealth() throws Exception {
        try (Gateway gateway = start("")) {
            await().untilAsserted(() -> {
                assertThat(ask(gateway, "servers")).as(err.toString()).isZero();
                assertThat(out.toString().lines())
                        .anyMatch(line -> line.matches(
                                "UPSTREAM +SERVER +READY +EJECTED +MODELS +DIALECT +NAME +VERSION +REASON"))
                        .anyMatch(
                                line -> line.matches(
                                        "gone +127.0.0.1:\\d+ +no +no +0/0 +generic .no metadata yet. +upstream 'gone' is not .*"))
                        .anyMatch(line -> line.matches("local +local +yes +no +1/1 +-.*"));
            });
        }
    }

    @Test
    void server_isTakenOutOfService_andPutBack() throws Exception {
        try (Gateway gateway = start("")) {
            String token = folder.resolve("token").toString();
            String server = gateway.catalogue().members().stream()
                    .filter(each -> each.upstream().equals("gone"))
                    .findFirst()
                    .orElseThrow()
                    .label();
            assertThat(ask(gateway, "servers", "drain", server, "--token-file", token))
                    .isEqualTo(1);
            assertThat(err.toString()).contains("no other server of upstream 'gone' is ready", "--force");
            assertThat(ask(gateway, "servers", "drain", server, "--token-file", token, "--force", "--reason", "a b&c"))
                    .as(err.toString())
                    .isZero();
            assertThat(out.toString()).matches(server + ": drained by admin at 20\\S+Z: a b&c\\s+");
            await().untilAsserted(() -> {
                assertThat(ask(gateway, "servers")).isZero();
                assertThat(out.toString().lines())
                        .anyMatch(line -> line.matches("gone .* no .* drained by admin at .*"));
            });
            assertThat(ask(gateway, "servers", "enable", server, "--token-file", token))
                    .isZero();
            assertThat(out.toString()).isEqualTo(server + ": in service\n");
            assertThat(ask(gateway, "servers", "stop", server)).isEqualTo(2);
            assertThat(ask(gateway, "servers", "drain")).isEqualTo(2);
            assertThat(ask(gateway, "servers", "--force")).isEqualTo(2);
        }
    }

    @Test
    void problems_haveCauseAndNextStep() throws Exception {
        try (Gateway gateway = start("")) {
            await().untilAsserted(() -> {
                assertThat(ask(gateway, "problems")).as(err.toString()).isZero();
                assertThat(out.toString().lines())
                        .anyMatch(line -> line.matches(
                                "critical: Server 127.0.0.1:\\d+, the only one of upstream 'gone', is not ready."))
                        .anyMatch(line -> line.matches("  since: 20.*Z"))
                        .anyMatch(line -> line.matches("  cause: 127.0.0.1:\\d+: it is not .*"))
                        .anyMatch(line -> line.startsWith("  next:  Start or repair a server"));
            });
        }
    }

    @Test
    void lastErrors_areListed_andBesideProblems_withTheToken() throws Exception {
        try (Gateway gateway = start("")) {
            String token = folder.resolve("token").toString();
            String url = "127.0.0.1:" + gateway.addresses().getFirst().getPort();
            await().untilAsserted(() -> {
                assertThat(run("infer", "lost", "--url", url, "-f", request())).isEqualTo(1);
                assertThat(ask(gateway, "problems", "--token-file", token))
                        .as(err.toString())
                        .isZero();
                assertThat(out.toString().lines()).anyMatch(line -> line.matches("  error: 20\\S+Z UNAVAILABLE: .+"));
            });
            assertThat(ask(gateway, "errors", "--token-file", token)).isZero();
            assertThat(out.toString().lines())
                    .anyMatch(line -> line.matches("UPSTREAM +SERVER +ERRORS +MODEL +REQUEST ID +ERROR"))
                    .anyMatch(line -> line.matches("gone .* lost .*Z UNAVAILABLE: .+"));
            assertThat(ask(gateway, "problems")).isZero();
            assertThat(out.toString()).doesNotContain("  error: ");
        }
    }

    private String request() throws IOException {
        return Files.writeString(
                        folder.resolve("request.json"),
                        "{\"inputs\": [{\"name\": \"a\", \"shape\": [1], \"datatype\": \"BOOL\", \"data\": [true]}]}")
                .toString();
    }

    @Test
    void driftAndCache_areListed() throws Exception {
        try (Gateway gateway = start("")) {
            assertThat(ask(gateway, "drift")).isZero();
            assertThat(out.toString()).startsWith("MODEL  UPSTREAM  SERVER");
            assertThat(ask(gateway, "cache")).isZero();
            assertThat(out.toString().lines()).anyMatch(line -> line.matches("digits +0 +0 +\\d+ +0 +0 +0"));
        }
    }

    @Test
    void gateways_areListedWithWhatDiffers() throws Exception {
        String gone = TestConfigs.unusedEndpoint().authority();
        try (Gateway gateway = start(", peers: {endpoints: ['" + gone + "'], timeout: 10s}")) {
            await().untilAsserted(() -> {
                assertThat(ask(gateway, "gateways")).as(err.toString()).isZero();
                assertThat(out.toString().lines())
                        .anyMatch(
                                line -> line.matches("GATEWAY +STATE +VERSION +CONFIGURATION +CALLS +DIFFERS +REASON"))
                        .anyMatch(line -> line.matches("this gateway +serving +dev +[0-9a-f]{16} +0 *"))
                        .anyMatch(line -> line.matches(gone + " +not reached +- +- +- +\\S.*"));
            });
        }
    }

    @Test
    void models_areListedWithTheirServers() throws Exception {
        try (Gateway gateway = start("")) {
            await().untilAsserted(() -> {
                assertThat(ask(gateway, "models")).as(err.toString()).isZero();
                assertThat(out.toString().lines()).anyMatch(line -> line.matches("digits +1 +READY +local local"));
            });
        }
    }

    @Test
    void json_isTheDocumentOfTheAdminAddress() throws Exception {
        try (Gateway gateway = start("")) {
            assertThat(ask(gateway, "shadows", "-o", "json")).isZero();
            JsonNode shadows = JSON.readTree(out.toString());
            assertThat(shadows.path(0).path("shadow").asText()).isEqualTo("gone");
            assertThat(ask(gateway, "shadows")).isZero();
            assertThat(out.toString().lines()).anyMatch(line -> line.startsWith("digits  gone"));
        }
    }

    @Test
    @SuppressWarnings("try") // closed twice
    void health_isTheExitCode() throws Exception {
        try (Gateway gateway = start("")) {
            await().untilAsserted(() -> assertThat(ask(gateway, "health")).isZero());
            assertThat(out.toString()).isEqualToIgnoringNewLines("ready");
            gateway.close();
            assertThat(ask(gateway, "health")).isEqualTo(1);
            assertThat(err.toString()).contains("connection refused; 'admin' in the configuration");
        }
    }

    @Test
    void logLevel_isSetForATime_withTheToken() throws Exception {
        try (CapturedLog log = new CapturedLog();
                Gateway gateway = start("")) {
            assertThat(ask(gateway, "logging")).as(err.toString()).isZero();
            assertThat(out.toString().lines()).anyMatch(line -> line.matches("fleet +info *"));
            assertThat(ask(gateway, "logging", "--logger", "fleet")).isEqualTo(2);
            String token = folder.resolve("token").toString();
            assertThat(ask(
                            gateway,
                            "logging",
                            "--level",
                            "debug",
                            "--logger",
                            "fleet",
                            "--for",
                            "5m",
                            "--token-file",
                            token))
                    .as(err.toString())
                    .isZero();
            assertThat(out.toString().lines()).anyMatch(line -> line.matches("fleet +debug +20\\S+Z +info"));
            assertThat(log.line("log level of fleet is debug for 5m")).isNotEmpty();
            assertThat(ask(gateway, "audit", "--token-file", token)).isZero();
            assertThat(out.toString().lines())
                    .anyMatch(line ->
                            line.matches("20\\S+Z +admin +127.0.0.1:\\d+ +log level +fleet +info +debug, for 5m"));
            assertThat(log.line("audit: log level"))
                    .contains("who=\"admin\"", "before=\"info\"", "after=\"debug, for 5m\"");
            assertThat(ask(gateway, "logging", "--level", "loud", "--token-file", token))
                    .isEqualTo(1);
            assertThat(err.toString()).contains("one of error, warn, info, debug, default is expected, got 'loud'");
        }
    }

    @Test
    void call_thatIsNotKept_isSaidToBe_withTheToken() throws Exception {
        try (Gateway gateway = start("")) {
            String token = folder.resolve("token").toString();
            assertThat(ask(gateway, "call", "of/a client", "--token-file", token))
                    .isEqualTo(1);
            assertThat(err.toString()).contains("404 the call 'of/a client' is not kept");
            assertThat(ask(gateway, "call", "other")).isEqualTo(1);
            assertThat(err.toString()).contains("name its file with --token-file");
        }
    }

    @Test
    void ramp_isChangedWithTheToken() throws Exception {
        try (Gateway gateway = start("")) {
            assertThat(ask(gateway, "ramps")).isZero();
            assertThat(out.toString().lines()).anyMatch(line -> line.matches("digits +new +running +1.000 % .*"));
            assertThat(ask(gateway, "ramps", "--model", "digits", "--do", "rollback"))
                    .isEqualTo(1);
            assertThat(err.toString()).contains("name its file with --token-file");
            String token = folder.resolve("token").toString();
            assertThat(ask(gateway, "ramps", "--model", "digits", "--do", "rollback", "--token-file", token))
                    .as(err.toString())
                    .isZero();
            assertThat(out.toString()).contains("rolled_back");
            assertThat(ask(gateway, "ramps", "--model", "other / one", "--do", "pause", "--token-file", token))
                    .isEqualTo(1);
            assertThat(err.toString()).contains("404").contains("other / one");
            assertThat(ask(gateway, "ramps", "--model", "digits")).isEqualTo(2);
        }
    }

    @Test
    void adminOverTls_isVerified() throws Exception {
        TestAuthority authority = new TestAuthority(folder, "ca");
        TestAuthority.Issued issued = authority.issue("server", "localhost");
        String tls =
                ", tls: {certificates: [{certificate: '%s', key: '%s'}]}".formatted(issued.certificate(), issued.key());
        try (Gateway gateway = start(tls)) {
            String url =
                    "https://localhost:" + gateway.adminAddress().orElseThrow().getPort();
            assertThat(run("ramps", "--admin", url)).isEqualTo(1);
            assertThat(run("ramps", "--admin", url, "--ca-file", authority.ca().toString()))
                    .as(err.toString())
                    .isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"127.0.0.1", "127.0.0.1:x", "ftp://a", "http://", "http://a:1/path", "http://a?b", "http://a b"})
    void addressThatIsNone_isRefused(String url) {
        assertThat(run("servers", "--admin", url)).isEqualTo(2);
        assertThat(err.toString())
                .contains("--admin: HOST:PORT, http://HOST:PORT")
                .contains("'" + url + "'");
    }

    @Test
    void formatThatIsNone_isRefused() {
        assertThat(run("servers", "-o", "xml")).isEqualTo(2);
        assertThat(err.toString()).contains("one of table, json is expected, got 'xml'");
    }

    @Test
    void hostAndPort_isAnAddress() throws Exception {
        try (Gateway gateway = start("")) {
            String address = "127.0.0.1:" + gateway.adminAddress().orElseThrow().getPort();
            assertThat(run("servers", "--admin", address)).as(err.toString()).isZero();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "3, isthmus servers -o t, table",
        "3, isthmus validate --output '', text json sarif github gitlab",
        "3, isthmus ramps --do r, resume restart rollback",
        "3, isthmus logging --logger fl, fleet",
        "2, isthmus completion z, zsh",
        "2, isthmus help se, serve servers",
        "1, isthmus se, serve servers",
        "2, isthmus ramps --a, --admin",
        "1, isthmus trai, ''",
        "3, isthmus serve --config '', ''",
        "2, isthmus validate '', ''",
        "1, isthmus to, top",
        "2, isthmus infer --c, --count --concurrency --ca-file"
    })
    void bash_completes(int at, String typed, String expected) throws Exception {
        assertThat(run("completion", "bash")).isZero();
        Path script = Files.writeString(
                folder.resolve("completion.bash"),
                out + "COMP_WORDS=(" + typed + "); COMP_CWORD=" + at + "; _isthmus; echo \"${COMPREPLY[*]}\"\n");
        Process bash = new ProcessBuilder("bash", script.toString())
                .redirectErrorStream(true)
                .start();
        String printed = new String(bash.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(bash.waitFor(20, TimeUnit.SECONDS)).isTrue();
        assertThat(printed.strip()).isEqualTo(expected);
    }

    @Test
    void completionOfOtherShells() {
        assertThat(run("completion", "zsh")).isZero();
        assertThat(out.toString()).startsWith("autoload").contains("complete -o default -F _isthmus isthmus");
        assertThat(run("completion", "fish")).isZero();
        assertThat(out.toString()).contains("complete -c isthmus -n '__fish_seen_subcommand_from ramps' -l admin -r");
        assertThat(run("completion", "csh")).isEqualTo(2);
        assertThat(err.toString()).contains("bash, zsh or fish is expected, got 'csh'");
    }

    @ParameterizedTest
    @ValueSource(strings = {"health", "infer m", "validate-request m -f FILE"})
    void tokenOfSeveralLines_isRefused_andNotShown(String command) throws Exception {
        Path file = Files.writeString(folder.resolve("lines"), "my-secret\nmore\n");
        List<String> arguments =
                new ArrayList<>(List.of(command.replace("FILE", file.toString()).split(" ", -1)));
        arguments.addAll(List.of("--token-file", file.toString()));
        assertThat(run(arguments.toArray(String[]::new))).isEqualTo(2);
        assertThat(err.toString())
                .contains("--token-file: a file with one line of printable ASCII characters is expected")
                .doesNotContain("my-secret");
    }

    /** Servers choose their texts; a terminal obeys control characters. */
    @Test
    void textsOfServers_writeNothingElse() throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/index", exchange -> {
            byte[] body =
                    "{\"models\": [], \"failures\": [{\"upstream\": \"u\", \"server\": \"s\", \"reason\": \"\\u001b[2Jgone\"}]}"
                            .getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
        try {
            String address = "127.0.0.1:" + server.getAddress().getPort();
            assertThat(run("models", "--admin", address)).isZero();
            assertThat(err.toString()).isEqualTo("not listed: upstream u s: ?[2Jgone\n");
        } finally {
            server.stop(0);
        }
    }
}
