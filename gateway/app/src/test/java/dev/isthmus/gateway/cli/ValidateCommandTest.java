package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.upstream.FakeV2Server;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Servers that are there, and agree, or not. */
class ValidateCommandTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    Path folder = Path.of(".");

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private final FakeV2Server grpc;
    private final FakeV2Server other;
    private final FakeV2Server rest;

    ValidateCommandTest() throws IOException {
        grpc = FakeV2Server.grpc();
        other = FakeV2Server.grpc();
        rest = FakeV2Server.rest();
    }

    @AfterEach
    void close() throws IOException {
        grpc.close();
        other.close();
        rest.close();
    }

    private String file(String more) throws IOException {
        return Files.writeString(
                        folder.resolve("f.yaml"),
                        """
                upstreams:
                  a: {protocol: grpc, endpoints: ["%s", "%s"]}
                  b: {protocol: rest, endpoints: ["%s"]}
                local: {embedded_models: true}
                models: {m: {upstream: a}, n: {targets: [{name: x, upstream: b, model: there}]}, digits: {upstream: local}}
                """.formatted(
                                                grpc.endpoint().authority(),
                                                other.endpoint().authority(),
                                                rest.endpoint().authority())
                                + more)
                .toString();
    }

    private int run(String... arguments) {
        return IsthmusCommand.run(new Console(new PrintWriter(out), new PrintWriter(err), () -> false), arguments);
    }

    @Test
    void serversThatAgree_areGood() throws IOException {
        grpc.with("m", "FP32");
        other.with("m", "FP32");
        rest.with("there", "INT64");
        String file = file("");
        assertThat(run("validate", file, "--probe", "--timeout", "1m"))
                .as(out.toString() + err)
                .isZero();
        assertThat(out.toString().lines())
                .startsWith(file + ": good")
                .anyMatch(line -> line.matches("b +" + rest.endpoint().authority()
                        + " +yes +no +1/1 +generic \\(nothing that it says\\) +test( .*)?"))
                .anyMatch(line -> line.matches("a +" + other.endpoint().authority() + " +yes +no +1/1 +generic .*"))
                .anyMatch(line -> line.matches("local +local +yes +no +1/1 +- .*"));
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void serversThatContradictTheirDialect_areAProblem() throws IOException {
        try (FakeV2Server server = FakeV2Server.on(UpstreamProtocol.REST, 0, "OpenVINO Model Server")) {
            String address = server.endpoint().authority();
            String file = Files.writeString(folder.resolve("f.yaml"), """
                            upstreams:
                              wrong: { protocol: rest, endpoints: ["%1$s"], dialect: kserve }
                              right: { protocol: rest, endpoints: ["%1$s"] }
                            default_upstream: right
                            """.formatted(address))
                    .toString();
            assertThat(run("validate", file, "--probe", "--timeout", "1m")).isEqualTo(1);
            String contradiction = "dialect in the configuration, but its name 'OpenVINO Model Server' says ovms";
            assertThat(out.toString())
                    .contains("kserve (" + contradiction + ")", "ovms (its name 'OpenVINO Model Server')");
            assertThat(err.toString().strip())
                    .isEqualTo("upstream 'wrong': its servers are called as kserve: " + contradiction);
            out.getBuffer().setLength(0);
            assertThat(run("validate", file, "--probe", "--timeout", "1m", "-o", "json"))
                    .isEqualTo(1);
            JsonNode servers = JSON.readTree(out.toString()).path("servers");
            assertThat(servers.findValuesAsText("dialect")).containsExactlyInAnyOrder("kserve", "ovms");
            assertThat(servers.findValuesAsText("dialect_reason")).contains(contradiction);
            assertThat(servers.findValues("contradicted")).isEmpty();
        }
    }

    @Test
    void replicasThatDiffer_areNamed() throws IOException {
        grpc.with("m", "FP32");
        other.with("m", "INT32");
        rest.with("there", "INT64");
        assertThat(run("validate", file(""), "--probe", "--timeout", "1m", "-o", "json"))
                .isEqualTo(1);
        JsonNode report = JSON.readTree(out.toString());
        assertThat(report.path("good").asBoolean()).isFalse();
        assertThat(report.path("servers")).hasSize(4);
        assertThat(report.path("problems")).hasSize(1);
        assertThat(report.path("problems").path(0).asText())
                .isEqualTo("model 'm': replicas differ: server "
                        + other.endpoint().authority()
                        + " of upstream 'a': input 'x' has datatype INT32; other replicas: FP32");
    }

    @Test
    void whatIsNotThere_isNamed() throws IOException {
        grpc.with("m", "FP32");
        other.models.put("m", "FP32");
        rest.close();
        assertThat(run("validate", file(""), "--probe", "--timeout", "1m")).isEqualTo(1);
        assertThat(err.toString().lines())
                .hasSize(2)
                .anyMatch(line -> line.startsWith(
                        "upstream 'b', server " + rest.endpoint().authority() + " is not ready: "))
                .anyMatch(line -> line.equals(
                        "model 'm' on upstream 'a', server " + other.endpoint().authority() + ": it is not ready"));
    }

    @Test
    void serverThatDoesNotRespond_isNamedAfterTheTimeout() throws IOException {
        grpc.with("m", "FP32");
        other.with("m", "FP32");
        rest.with("there", "INT64");
        rest.mute = true;
        assertThat(run("validate", file(""), "--probe", "--timeout", "1s")).isEqualTo(1);
        assertThat(err.toString())
                .contains("upstream 'b', server " + rest.endpoint().authority() + " is not ready: ");
    }

    @Test
    void nameWithoutAddress_isSaid() throws IOException {
        String file = Files.writeString(folder.resolve("f.yaml"), """
                        upstreams: {u: {protocol: rest, connect_timeout: 1s, endpoints: ['none.invalid:1']}}
                        default_upstream: u
                        """).toString();
        assertThat(run("validate", file, "--probe", "--timeout", "1s")).isEqualTo(1);
        assertThat(err.toString()).contains("upstream 'u': none of its names and Services has an address");
    }

    @Test
    void modelThatCannotBeLoaded_isSaid() throws IOException {
        Path version = Files.createDirectories(folder.resolve("models/broken/1"));
        Files.writeString(version.resolve("model.onnx"), "no model");
        String file = Files.writeString(
                        folder.resolve("f.yaml"), "local: {model_repository: models}\ndefault_upstream: local\n")
                .toString();
        assertThat(run("validate", file, "--probe")).isEqualTo(1);
        assertThat(err.toString()).contains("upstream 'local', server local is not ready: ");
    }

    @Test
    void refusedFile_isNotProbed() throws IOException {
        String file =
                Files.writeString(folder.resolve("f.yaml"), "modles: {}\n").toString();
        assertThat(run("validate", file, "--probe", "-o", "json")).isEqualTo(2);
        JsonNode report = JSON.readTree(out.toString());
        assertThat(report.path("good").asBoolean()).isFalse();
        assertThat(report.path("problems").path(0).asText()).contains("f.yaml:1:1: unknown key 'modles'");
    }

    @Test
    void withoutProbe_noServerIsCalled() throws IOException {
        String file = file("");
        assertThat(run("validate", file, "-o", "json")).isZero();
        assertThat(JSON.readTree(out.toString()).path("good").asBoolean()).isTrue();
        assertThat(rest.calls("ServerMetadata")).isZero();
    }

    @Test
    void timeoutThatIsNone_isRefused() throws IOException {
        assertThat(run("validate", file(""), "--probe", "--timeout", "5")).isEqualTo(2);
        assertThat(err.toString()).contains("--timeout: a duration such as 10s is expected, got '5'");
    }

    @Test
    void severalFiles_areOneConfiguration() throws IOException {
        String one = file("");
        Path more = Files.createDirectory(folder.resolve("more"));
        Files.writeString(more.resolve("a.yaml"), "limits: {max_hops: 3}\n");
        assertThat(run("validate", one, more.toString())).isZero();
        assertThat(out.toString()).isEqualTo(one + ", " + more + ": good\n");

        Path again = Files.writeString(more.resolve("b.yaml"), "limits: {max_hops: 3}\n");
        assertThat(run("validate", one, more.toString())).isEqualTo(2);
        assertThat(err.toString()).startsWith(again + ":1:20: 'limits: max_hops' is set in one file only");
    }

    @Test
    void refusedFile_isAnnotated() throws IOException {
        String file = Files.writeString(folder.resolve("f.yaml"), "modles: {}\nlimits: {max_hops: 0}\n")
                .toString();
        assertThat(run("validate", file, "-o", "github")).isEqualTo(2);
        assertThat(out.toString().lines())
                .hasSize(2)
                .first()
                .asString()
                .startsWith("::error file=" + file + ",line=1,col=1,title=isthmus validate::unknown key 'modles'");
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void whatMayNotBeMeant_isAHint_beside() throws IOException {
        String file = Files.writeString(folder.resolve("f.yaml"), """
                        upstreams: {u: {protocol: rest, endpoints: ['none.invalid:1'], retry: {retries: 3}}}
                        default_upstream: u
                        """).toString();
        assertThat(run("validate", file)).isZero();
        assertThat(out.toString()).isEqualTo(file + ": good\n");
        assertThat(err.toString()).startsWith(file + ": hint: upstream 'u': a server that hangs takes the whole");
        out.getBuffer().setLength(0);
        assertThat(run("validate", file, "-o", "json")).isZero();
        assertThat(JSON.readTree(out.toString()).path("hints")).hasSize(1);
    }

    @Test
    void goodFile_hasAnEmptyReport() throws IOException {
        assertThat(run("validate", file(""), "-o", "gitlab")).isZero();
        assertThat(JSON.readTree(out.toString())).isEmpty();
    }

    @Test
    void serverThatIsNotThere_isInTheReport() throws IOException {
        String file = Files.writeString(folder.resolve("f.yaml"), """
                        upstreams: {u: {protocol: rest, connect_timeout: 1s, endpoints: ['none.invalid:1']}}
                        default_upstream: u
                        """).toString();
        assertThat(run("validate", file, "--probe", "--timeout", "1s", "-o", "sarif"))
                .isEqualTo(1);
        JsonNode result = JSON.readTree(out.toString())
                .path("runs")
                .path(0)
                .path("results")
                .path(0);
        assertThat(result.path("message").path("text").asText()).contains("has an address");
        assertThat(result.path("locations").path(0).path("physicalLocation").has("region"))
                .isFalse();
    }
}
