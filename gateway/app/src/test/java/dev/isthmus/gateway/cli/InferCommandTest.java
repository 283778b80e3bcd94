package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.management.UnixOperatingSystemMXBean;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.replay.ReplayClient;
import dev.isthmus.gateway.replay.ReplayClient.ServerConnection;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.TestAuthority;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.TlsFileException;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests to a gateway with the embedded models, sent by the command. */
class InferCommandTest {
    private static final Path SIMPLE_MODEL =
            Path.of("../../local-backend/src/main/resources/models/simple/1/model.onnx");
    private static final String SIMPLE = "{\"inputs\":[{\"name\":\"INPUT0\",\"shape\":[1,16],\"datatype\":\"INT32\","
            + "\"data\":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]},{\"name\":\"INPUT1\",\"shape\":[1,16],"
            + "\"datatype\":\"INT32\",\"data\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}]}";
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    Path folder = Path.of(".");

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private final List<Gateway> gateways = new ArrayList<>();

    @BeforeEach
    void request() throws IOException {
        Files.writeString(file(), SIMPLE);
    }

    @AfterEach
    void stop() {
        gateways.forEach(Gateway::close);
    }

    private Path file() {
        return folder.resolve("request.json");
    }

    private Gateway gateway(String more) throws Exception {
        return gateway("port: 0", more);
    }

    private Gateway gateway(String listener, String more) throws Exception {
        Gateway gateway = Gateway.start(ConfigLoader.parse(
                "test.yaml", "listeners: [{" + listener + "}]\nhealth: {warm_up: 0s}\n" + more, folder));
        gateways.add(gateway);
        return gateway;
    }

    private Gateway embedded() throws Exception {
        return gateway("local: {embedded_models: true}\ndefault_upstream: local\n");
    }

    private static String url(Gateway gateway) {
        return "http://127.0.0.1:" + gateway.addresses().getFirst().getPort();
    }

    private int run(String... arguments) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        return IsthmusCommand.run(new Console(new PrintWriter(out), new PrintWriter(err), () -> false), arguments);
    }

    private int infer(String url, String model, String... further) {
        List<String> all = new ArrayList<>(List.of("infer", model, "-f", file().toString(), "--url", url));
        all.addAll(List.of(further));
        return run(all.toArray(String[]::new));
    }

    @ParameterizedTest
    @CsvSource({"simple, ''", "simple, --grpc", "simple/1, ''"})
    void response_isPrinted(String model, String option) throws Exception {
        Gateway gateway = embedded();
        String[] further = option.isEmpty() ? new String[0] : new String[] {option};
        assertThat(infer(url(gateway), model, further)).as(err.toString()).isZero();
        JsonNode response = JSON.readTree(out.toString());
        assertThat(response.path("model_name").asText()).isEqualTo("simple");
        assertThat(response.path("outputs").path(0).path("data").path(15).asInt())
                .isEqualTo(16);
    }

    @ParameterizedTest
    @ValueSource(strings = {"--url=U", "--grpc"})
    void withoutFile_anExampleIsSent(String option) throws Exception {
        String url = url(embedded());
        String[] further = option.equals("--grpc") ? new String[] {"--url", url, option} : new String[] {"--url", url};
        for (String model : List.of("simple", "digits/1")) {
            List<String> all = new ArrayList<>(List.of("infer", model));
            all.addAll(List.of(further));
            assertThat(run(all.toArray(String[]::new))).as(err.toString()).isZero();
            assertThat(JSON.readTree(out.toString()).path("outputs")).isNotEmpty();
        }
        assertThat(run("infer", "none", "--url", url)).isEqualTo(1);
        assertThat(err.toString()).contains(url + ": NOT_FOUND: ");
    }

    @Test
    void response_isPartOfTheReport() throws Exception {
        assertThat(infer(url(embedded()), "simple", "-o", "json"))
                .as(err.toString())
                .isZero();
        JsonNode report = JSON.readTree(out.toString());
        assertThat(report.path("answered").asInt()).isEqualTo(1);
        assertThat(report.path("response")
                        .path("outputs")
                        .path(0)
                        .path("data")
                        .path(15)
                        .asInt())
                .isEqualTo(16);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "--grpc"})
    void manyRequests_showTheShareOfEachVersion(String option) throws Exception {
        for (String version : List.of("1", "2")) {
            Path folder =
                    Files.createDirectories(this.folder.resolve("models/simple").resolve(version));
            Files.copy(SIMPLE_MODEL, folder.resolve("model.onnx"));
        }
        Files.writeString(folder.resolve("models/simple/config.pbtxt"), "version_policy { all { } }\n");
        Gateway gateway = gateway("""
                local: {model_repository: models}
                models:
                  m:
                    targets:
                      - {name: old, upstream: local, model: simple, version: "1", weight: 3}
                      - {name: new, upstream: local, model: simple, version: "2", weight: 1}
                """);
        List<String> further = new ArrayList<>(List.of("-n", "200", "-c", "4", "-o", "json"));
        if (!option.isEmpty()) {
            further.add(option);
        }
        assertThat(infer(url(gateway), "m", further.toArray(String[]::new)))
                .as(err.toString())
                .isZero();
        JsonNode report = JSON.readTree(out.toString());
        assertThat(report.path("answered").asInt()).isEqualTo(200);
        assertThat(report.path("targets")).hasSize(2);
        JsonNode one = report.path("targets").path(0);
        assertThat(one.path("model").asText()).isEqualTo("m");
        assertThat(one.path("version").asText()).isEqualTo("1");
        assertThat(one.path("share").asDouble()).isBetween(0.5, 0.95);
        JsonNode times = report.path("latency_ms");
        assertThat(List.of("min", "p50", "p95", "p99", "max"))
                .extracting(name -> times.path(name).asDouble())
                .isSorted()
                .allMatch(time -> time > 0);
        assertThat(report.path("response").isMissingNode()).isTrue();

        assertThat(infer(url(gateway), "m", "-n", "50")).isZero();
        assertThat(out.toString())
                .contains("sent 50: 50 answered, 0 failed", "latency: min ", ", p95 ")
                .containsPattern("m +2 +\\d+ +\\d+\\.\\d %");
    }

    @ParameterizedTest
    @ValueSource(strings = {"--url", "--grpc"})
    void failures_areCountedByCode(String option) throws Exception {
        String url = url(embedded());
        String[] grpc = option.equals("--grpc") ? new String[] {option} : new String[0];
        assertThat(infer(url, "none", grpc)).isEqualTo(1);
        assertThat(err.toString()).contains("isthmus infer: NOT_FOUND: ");
        assertThat(infer(url, "none", "-n", "3", "-c", "2")).isEqualTo(1);
        assertThat(out.toString()).contains("sent 3: 0 answered, 3 failed").doesNotContain("latency");
        assertThat(err.toString()).contains("isthmus infer: 3 times NOT_FOUND: ");
    }

    @Test
    void headersAndToken_areSent() throws Exception {
        assertThat(run("key", "alice")).isZero();
        String[] made = out.toString().split("\\R", -1);
        String key = made[0].substring("key:  ".length());
        secret("keys", made[1].substring("line: ".length()) + "\n");
        Gateway gateway = gateway("""
                authentication: {api_keys: {file: keys}}
                access: {rules: [{name: alice, who: {names: [alice]}, may: [infer, metadata]}]}
                local: {embedded_models: true}
                default_upstream: local
                """);
        assertThat(infer(url(gateway), "simple")).isEqualTo(1);
        assertThat(err.toString()).contains("UNAUTHENTICATED");
        assertThat(infer(url(gateway), "simple", "--header", "X-Api-Key=" + key))
                .as(err.toString())
                .isZero();
        String token = secret("token", key + "\n").toString();
        assertThat(infer(url(gateway), "simple", "--token-file", token))
                .as(err.toString())
                .isZero();
        assertThat(infer(url(gateway), "simple", "--grpc", "--token-file", token))
                .as(err.toString())
                .isZero();
    }

    private Path secret(String name, String text) throws IOException {
        Path file = Files.writeString(folder.resolve(name), text);
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    }

    @Test
    void tls_isVerified() throws Exception {
        TestAuthority authority = new TestAuthority(folder, "ca");
        TestAuthority.Issued issued = authority.issue("server", "localhost");
        Gateway gateway = gateway(
                "port: 0, tls: {certificates: [{certificate: '%s', key: '%s'}]}"
                        .formatted(issued.certificate(), issued.key()),
                "local: {embedded_models: true}\ndefault_upstream: local\n");
        String url = url(gateway).replace("http://127.0.0.1", "https://localhost");
        assertThat(infer(url, "simple", "--ca-file", authority.ca().toString()))
                .as(err.toString())
                .isZero();
        assertThat(infer(url, "simple", "--grpc", "--ca-file", authority.ca().toString()))
                .as(err.toString())
                .isZero();
        assertThat(infer(url, "simple")).isEqualTo(1);
        assertThat(err.toString()).contains(url + ": UNAVAILABLE: ");
    }

    @Test
    void serverThatIsGone_isSaid() throws Exception {
        String gone = "http://" + TestConfigs.unusedEndpoint().authority();
        assertThat(infer(gone, "simple")).isEqualTo(1);
        assertThat(err.toString()).contains(gone + ": UNAVAILABLE: the server is not reachable");
        assertThat(infer(gone.substring("http://".length()), "simple")).isEqualTo(1);
        assertThat(err.toString()).contains(gone + ": UNAVAILABLE: the server");
    }

    @Test
    void requestThatIsInvalid_isNotSent() throws Exception {
        Files.writeString(file(), SIMPLE.replace("[1,16]", "[1,17]"));
        assertThat(infer("http://127.0.0.1:1", "simple")).isEqualTo(2);
        assertThat(err.toString()).contains(file() + ": ", "INPUT0");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "infer m -f none.json|--file: a file with text is expected: none.json does not exist",
                "infer m -f F --url=ftp://a|--url: HOST:PORT, http://HOST:PORT or https://HOST:PORT is expected, got 'ftp://a'",
                "infer m -f F -n 0|--count: a number from 1 to 1000000 is expected, got '0'",
                "infer m -f F -c x|--concurrency: a number from 1 to 10000 is expected, got 'x'",
                "infer .. -f F|model name '..'",
                "infer m -f F -o xml|--output: one of text, json is expected, got 'xml'",
            })
    void wrongArguments_areNamed(String line) {
        String[] parts = line.split("\\|", 2);
        assertThat(run(parts[0].replace("F", file().toString()).split(" ", -1))).isEqualTo(2);
        assertThat(err.toString()).contains(parts[1]);
    }

    /** An event loop has open files from the beginning. */
    @Test
    void clientThatCannotBeMade_leavesNothingOpen() {
        var process = (UnixOperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        ServerConnection connection = new ServerConnection(
                URI.create("https://127.0.0.1:1"), Path.of("none"), false, BinaryTensorData.AUTO, Map.of(), 1);
        long before = process.getOpenFileDescriptorCount();
        for (int i = 0; i < 50; i++) {
            assertThatThrownBy(() -> new ReplayClient(connection, null)).isInstanceOf(TlsFileException.class);
        }
        assertThat(process.getOpenFileDescriptorCount()).isLessThan(before + 50);
    }
}
