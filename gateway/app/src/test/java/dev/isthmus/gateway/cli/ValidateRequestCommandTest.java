package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.TestConfigs;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the command says of requests to a gateway with the embedded models. */
class ValidateRequestCommandTest {
    private static final String NUMBERS = "\"shape\":[1,16],\"data\":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]}";
    private static final String FIRST = "{\"name\":\"INPUT0\",\"datatype\":\"INT32\"," + NUMBERS;
    private static final String SECOND = "{\"name\":\"INPUT1\",\"datatype\":\"INT32\"," + NUMBERS;
    private static final String FLOATS = "{\"name\":\"INPUT1\",\"datatype\":\"FP32\"," + NUMBERS;

    @TempDir
    Path folder = Path.of(".");

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private Gateway gateway;

    @BeforeEach
    void start() throws Exception {
        gateway = Gateway.start(ConfigLoader.parse(
                "test.yaml",
                "{listeners: [{port: 0}], health: {warm_up: 0s}, local: {embedded_models: true}, default_upstream: local}",
                folder));
    }

    @AfterEach
    void stop() {
        gateway.close();
    }

    private int run(String... arguments) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        return IsthmusCommand.run(new Console(new PrintWriter(out), new PrintWriter(err), () -> false), arguments);
    }

    private int validate(String model, String inputs, String form) throws Exception {
        Path file = Files.writeString(folder.resolve("request.json"), "{\"inputs\":[" + inputs + "]}");
        String url = "http://127.0.0.1:" + gateway.addresses().getFirst().getPort();
        return run("validate-request", model, "-f", file.toString(), "--url", url, "-o", form);
    }

    @Test
    void requestThatMatches_isGood() throws Exception {
        assertThat(validate("simple", FIRST + "," + SECOND, "text"))
                .as(err.toString())
                .isZero();
        assertThat(out.toString().strip()).isEqualTo("the request matches the metadata of the model");
        assertThat(validate("simple/1", SECOND + "," + FIRST, "json")).isZero();
        assertThat(new ObjectMapper().readTree(out.toString()).path("compared").asBoolean())
                .isTrue();
    }

    @Test
    void differences_arePrinted() throws Exception {
        assertThat(validate("simple", FLOATS, "text")).isEqualTo(1);
        assertThat(out.toString().lines())
                .containsExactly(
                        "input 'INPUT1' of model 'simple': datatype INT32 is expected, got FP32",
                        "input 'INPUT0' of model 'simple' is missing: INT32 of shape [-1,16] is expected");
        assertThat(validate("simple", FIRST.replace("15]", "1]"), "text")).isOne();
        assertThat(validate("simple", FIRST.replace(",15]", "]"), "text")).isOne();
        assertThat(out.toString()).contains("INPUT0").doesNotContain("metadata");
    }

    @Test
    void whatCannotBeAsked_isSaid() throws Exception {
        assertThat(validate("unknown", FIRST, "text")).isOne();
        assertThat(err.toString()).contains("isthmus validate-request: 404: ");
        String nowhere = "http://127.0.0.1:" + TestConfigs.unusedEndpoint().port();
        assertThat(run(
                        "validate-request",
                        "m",
                        "-f",
                        folder.resolve("request.json").toString(),
                        "--url",
                        nowhere))
                .isOne();
        assertThat(err.toString()).contains(nowhere);
        assertThat(run(
                        "validate-request",
                        "m",
                        "-f",
                        folder.resolve("none.json").toString()))
                .isEqualTo(2);
        assertThat(run("validate-request", "m")).isEqualTo(2);
        assertThat(err.toString()).contains("--file: a file with the request is expected, got none");
    }
}
