package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.oip.DataType;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the page "Try it" sends, shows and offers to paste, with models of every datatype at a real Triton. */
@ExtendWith(RealServers.Shared.class)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class TryItTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final List<String> FORMS = List.of("json", "binary", "grpc");
    private static final String TOKEN = "token-of-the-test";

    private Path folder = Path.of(".");
    private final HttpClient http = HttpClient.newHttpClient();
    private Gateway gateway;

    @BeforeAll
    void start(RealServers servers, @TempDir Path temporary) throws Exception {
        folder = temporary;
        servers.triton.awaitReady();
        Path token = Files.writeString(folder.resolve("token"), TOKEN);
        Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-------"));
        gateway = TestGateways.start("""
                listeners: [{port: 0}]
                admin: {port: 0, token_file: %s}
                upstreams:
                  triton: {protocol: grpc, endpoints: ["127.0.0.1:%d"]}
                  nowhere: {protocol: grpc, endpoints: ["127.0.0.1:%d"]}
                models:
                  gone: {upstream: nowhere}
                  renamed:
                    targets: [{name: stable, upstream: triton, model: versioned, version: "3"}]
                default_upstream: triton
                health: {warm_up: 0s}
                """.formatted(token, servers.triton.grpcPort, RealServer.freePort()));
    }

    @AfterAll
    void stop() {
        gateway.close();
        http.close();
    }

    private JsonNode ask(int status, HttpRequest.Builder request) throws Exception {
        HttpResponse<String> response = http.send(
                request.header("authorization", "Bearer " + TOKEN).build(), HttpResponse.BodyHandlers.ofString());
        assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
        return JSON.readTree(response.body());
    }

    private HttpRequest.Builder path(String path) {
        return HttpRequest.newBuilder(URI.create(
                "http://127.0.0.1:" + gateway.adminAddress().orElseThrow().getPort() + path));
    }

    private JsonNode post(String path, JsonNode body) throws Exception {
        return ask(200, path(path).POST(HttpRequest.BodyPublishers.ofString(body.toString())));
    }

    private static ObjectNode request(String model, String form, String type, String shape, String data)
            throws Exception {
        ObjectNode request = JSON.createObjectNode().put("model", model).put("form", form);
        request.putArray("inputs")
                .addObject()
                .put("name", "INPUT0")
                .put("datatype", type)
                .put("data", data)
                .set("shape", JSON.readTree(shape));
        return request;
    }

    /** The values of a datatype, as the form has them. */
    private static String values(DataType type) {
        return switch (type) {
            case BOOL -> "true, false";
            case UINT8 -> "0, 255";
            case UINT16 -> "0, 65535";
            case UINT32 -> "0, 4294967295";
            case UINT64 -> "0, 18446744073709551615";
            case INT8 -> "-128, 127";
            case INT16 -> "-32768, 32767";
            case INT32 -> "-2147483648, 2147483647";
            case INT64 -> "-9223372036854775808, 9223372036854775807";
            case FP16, BF16, FP32, FP64 -> "-1.5, 0.25";
            case BYTES -> "it's \"$HOME\"\ncaf\u00e9 `x` \\";
        };
    }

    @Test
    void everyDatatype_isSentInEachForm_andItsCommandsWork() throws Exception {
        List<String> shell = new ArrayList<>(List.of("set -e"));
        StringBuilder programs = new StringBuilder();
        for (DataType type : DataType.values()) {
            String model = "identity_" + type.name().toLowerCase(Locale.ROOT);
            List<JsonNode> shown = new ArrayList<>();
            for (String form : FORMS) {
                ObjectNode request = request(model, form, type.name(), "[1, 2]", values(type));
                JsonNode response = post("/console/try", request);
                assertThat(response.path("status").asInt())
                        .as(response.toString())
                        .isEqualTo(200);
                assertThat(response.at("/timeline/protocol").asText()).isEqualTo(form.equals("grpc") ? "grpc" : "rest");
                assertThat(response.at("/timeline/attempts").asInt()).isOne();
                shown.add(response.at("/response/outputs/0/data"));
                JsonNode commands = post("/console/try/commands", request);
                commands.properties().forEach(command -> {
                    if (command.getKey().equals("python")) {
                        programs.append("exec(").append(command.getValue()).append(")\n");
                    } else {
                        shell.add(command.getValue().asText() + " | tee /dev/stderr | grep -q -e OUTPUT0");
                    }
                });
            }
            assertThat(shown).as(model).containsOnly(shown.getFirst());
            assertThat(shown.getFirst()).hasSize(2);
        }
        assertThat(shell).hasSize(1 + 3 * DataType.values().length);
        Script.Outcome pasted = Script.run(
                Map.of("PATH", grpcurl() + ":" + System.getenv("PATH")),
                List.of("bash", "-c", String.join("\n", shell)));
        assertThat(pasted.complaint()).isEmpty();
        Path program = Files.writeString(folder.resolve("programs.py"), programs);
        Script.Outcome run = Script.run(Map.of(), List.of(Script.clientPython(), program.toString()));
        assertThat(run.complaint()).isEmpty();
        assertThat(run.text().lines().filter(line -> line.startsWith("OUTPUT0")))
                .hasSize(3 * DataType.values().length);
        assertThat(run.text()).contains("18446744073709551615", "$HOME");
    }

    private static Path grpcurl() throws Exception {
        return Script.folder("grpcurl", Script.run("install.sh", "grpcurl"));
    }

    @Test
    void form_isMadeFromTheMetadata() throws Exception {
        JsonNode form = ask(200, path("/console/try?model=simple"));
        assertThat(form.path("inputs"))
                .hasToString("[{\"name\":\"INPUT0\",\"datatype\":\"INT32\",\"declared\":[-1,16],\"shape\":[1,16]},"
                        + "{\"name\":\"INPUT1\",\"datatype\":\"INT32\",\"declared\":[-1,16],\"shape\":[1,16]}]");
        assertThat(form.path("versions")).hasToString("[\"1\"]");
        assertThat(form.at("/commands/grpc/grpcurl").asText()).startsWith("grpcurl -plaintext -d '{");
        assertThat(form.at("/commands/json/curl").asText()).contains("/v2/models/simple/infer' -d '{\"inputs\":[");
    }

    @Test
    void timeline_saysWhatBecameOfTheCall() throws Exception {
        JsonNode response = post("/console/try", request("renamed", "json", "INT32", "[2]", "1, 2"));
        assertThat(response.at("/response/outputs/0/data")).hasToString("[4,5]");
        JsonNode call = response.path("timeline");
        assertThat(call.path("route").asText()).isEqualTo("renamed");
        assertThat(call.path("upstream").asText()).isEqualTo("triton");
        assertThat(call.path("served_model").asText()).isEqualTo("versioned");
        assertThat(call.path("served_version").asText()).isEqualTo("3");
        for (String phase : List.of("request_ms", "upstream_ms", "response_ms", "duration_ms")) {
            assertThat(call.path(phase).isNumber()).as(phase).isTrue();
        }
        assertThat(response.path("explain").toString()).contains("model 'renamed' is configured by this name");
    }

    @Test
    void failure_isShownWithItsTimeline() throws Exception {
        JsonNode response = post("/console/try", request("gone", "grpc", "INT32", "[1]", "1"));
        assertThat(response.path("status").asInt()).isEqualTo(503);
        assertThat(response.path("error").asText()).isNotEmpty();
        assertThat(response.at("/timeline/code").asText()).isEqualTo("UNAVAILABLE");
        assertThat(response.at("/timeline/upstream").asText()).isEqualTo("nowhere");
    }

    @Test
    void zeros_ofALargeInput() throws Exception {
        for (String form : FORMS) {
            ObjectNode request = request("identity_fp32", form, "FP32", "[1, 300000]", "");
            assertThat(post("/console/try", request).at("/response/outputs/0/data"))
                    .hasSize(300_000);
            JsonNode commands = post("/console/try/commands", request);
            assertThat(commands.path("python").asText()).contains("np.zeros([1, 300000], np.float32)");
            assertThat(commands.has("curl")).isEqualTo(form.equals("binary"));
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "not JSON",
                "{\"model\": \"a/b\"}",
                "{\"model\": \"m\", \"form\": \"xml\"}",
                "{\"model\": \"m\", \"inputs\": [{\"name\": \"x\", \"datatype\": \"FP8\"}]}",
                "{\"model\": \"m\", \"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": [-1]}]}",
                "{\"model\": \"m\", \"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": [9999999]}]}",
                "{\"model\": \"m\", \"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": [1], \"data\": \"[\"}]}",
                "{\"model\": \"m\", \"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": [1], \"data\": \"1,2\"}]}",
                "{\"model\": \"m\", \"headers\": {\"host\": \"a\"}}",
                "{\"model\": \"m\", \"headers\": {\"x\": \"a\\u0000\"}}",
                "{\"model\": \"m\", \"headers\": {\"x y\": \"a\"}}"
            })
    void badRequest_isRefused(String body) throws Exception {
        for (String path : List.of("/console/try", "/console/try/commands")) {
            JsonNode response = ask(400, path(path).POST(HttpRequest.BodyPublishers.ofString(body)));
            assertThat(response.path("error").asText()).isNotEmpty();
        }
    }

    @Test
    void credential_reachesTheGateway_andNoCommand() throws Exception {
        ObjectNode request = request("identity_int32", "json", "INT32", "[1, 1]", "7");
        request.putObject("headers").put("Authorization", "Bearer secret-of-the-test");
        for (String form : FORMS) {
            request.put("form", form);
            assertThat(post("/console/try", request).path("status").asInt()).isEqualTo(200);
            String commands = post("/console/try/commands", request).toString();
            assertThat(commands).contains("AUTHORIZATION").doesNotContain("secret-of-the-test");
        }
    }

    @Test
    void unknownModel_isNotFound() throws Exception {
        assertThat(ask(404, path("/console/try?model=stranger")).path("error").asText())
                .isNotEmpty();
        assertThat(((ArrayNode) post("/console/try", request("stranger", "json", "INT32", "[1]", "1"))
                                .path("explain"))
                        .size())
                .isPositive();
    }
}
