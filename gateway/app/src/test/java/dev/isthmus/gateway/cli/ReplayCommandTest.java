package dev.isthmus.gateway.cli;

import static java.nio.file.StandardOpenOption.APPEND;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeRestServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that a gateway recorded, sent again to gateways with the embedded models. */
class ReplayCommandTest {
    private static final Path MODELS = Path.of("../../local-backend/src/main/resources/models");
    private static final String SIMPLE = "{\"inputs\":[{\"name\":\"INPUT0\",\"shape\":[1,16],\"datatype\":\"INT32\","
            + "\"data\":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]},{\"name\":\"INPUT1\",\"shape\":[1,16],"
            + "\"datatype\":\"INT32\",\"data\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}]}";

    @TempDir
    Path folder = Path.of(".");

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private final List<Gateway> gateways = new ArrayList<>();

    @AfterEach
    void stop() {
        gateways.forEach(Gateway::close);
    }

    private Gateway gateway(String config) throws Exception {
        Gateway gateway = Gateway.start(ConfigLoader.parse("test.yaml", config, folder));
        gateways.add(gateway);
        return gateway;
    }

    private Gateway embedded(String more) throws Exception {
        return gateway("{listeners: [{port: 0}], health: {warm_up: 0s}, local: {embedded_models: true}, "
                + "default_upstream: local" + more + "}");
    }

    private static String url(Gateway gateway) {
        return "http://127.0.0.1:" + gateway.addresses().getFirst().getPort();
    }

    private static void post(Gateway gateway, String model, String body, int status) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url(gateway) + "/v2/models/" + model + "/infer"))
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build();
        try (HttpClient client = HttpClient.newHttpClient()) {
            assertThat(client.send(request, HttpResponse.BodyHandlers.ofString())
                            .statusCode())
                    .isEqualTo(status);
        }
    }

    private static String digit() throws IOException {
        try (InputStream in = ReplayCommandTest.class.getResourceAsStream("/models/digits/sample.json")) {
            return new String(Objects.requireNonNull(in).readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private Path file() {
        return folder.resolve("payloads.jsonl");
    }

    /** Records two inferences that succeed and one that fails. */
    private void record(String settings) throws Exception {
        record(settings, 6);
    }

    private void record(String settings, int events) throws Exception {
        Gateway gateway = embedded(", payload_log: {file: payloads.jsonl" + settings + "}");
        post(gateway, "digits", digit(), 200);
        post(gateway, "simple", SIMPLE, 200);
        post(gateway, "none", SIMPLE, 404);
        gateway.close();
        assertThat(Files.readAllLines(file())).hasSize(events);
    }

    /** The gateway writes the requests that it is sent into the file of which they are read. */
    @Test
    void fileOfTheServerItself_isReadOnce() throws Exception {
        record("");
        Gateway gateway = embedded(", payload_log: {file: payloads.jsonl}");
        assertThat(replay("--to", url(gateway))).isEqualTo(1);
        assertThat(out.toString()).contains("sent 3: 2 answered, 1 failed");
    }

    @Test
    void fileThatGrows_isSaid() throws Exception {
        record("");
        byte[] recorded = Files.readAllBytes(file());
        // The last line has no end, as if it were written at this moment.
        Files.write(file(), Arrays.copyOf(recorded, recorded.length - 10));
        AtomicBoolean grown = new AtomicBoolean();
        try (FakeRestServer server = FakeRestServer.that((request, target) -> {
            if (request.head().startsWith("POST") && grown.compareAndSet(false, true)) {
                Files.write(file(), Arrays.copyOfRange(recorded, recorded.length - 10, recorded.length), APPEND);
                Files.write(file(), recorded, APPEND);
            }
            FakeRestServer.write(target, FakeRestServer.ok("{\"model_name\":\"\",\"outputs\":[]}"));
            return true;
        })) {
            String to = "http://127.0.0.1:" + server.endpoint().port();
            assertThat(replay("--to", to)).as(err.toString()).isZero();
            assertThat(out.toString()).contains("sent 3: 3 answered, 0 failed", " 0 bad lines");
            assertThat(err.toString())
                    .isEqualTo(file() + ": grew while it was replayed, what came after its first " + recorded.length
                            + " bytes was not sent; if " + to
                            + " writes its payload log into it, replay a copy" + System.lineSeparator());
        }
    }

    @Test
    void hostWithoutAnAddress_isAServerThatDoesNotRespond() throws Exception {
        Files.writeString(file(), "");
        assertThat(replay("--to", "http://none.invalid:1")).isEqualTo(1);
        assertThat(err.toString()).startsWith("isthmus replay: the host cannot be resolved: none.invalid");
    }

    private int replay(String... arguments) {
        List<String> all = new ArrayList<>(List.of("replay", file().toString()));
        all.addAll(List.of(arguments));
        return IsthmusCommand.run(
                new Console(new PrintWriter(out), new PrintWriter(err), () -> false), all.toArray(String[]::new));
    }

    /** A repository with the embedded models, of which digits finds every 2 a little less likely. */
    private void otherDigits() throws IOException {
        byte[] model = Files.readAllBytes(MODELS.resolve("digits/1/model.onnx"));
        int name = new String(model, StandardCharsets.ISO_8859_1).lastIndexOf("intercepts1");
        int ofTwo = name - 2 - 8 * Float.BYTES;
        ByteBuffer.wrap(model).order(ByteOrder.LITTLE_ENDIAN).putFloat(ofTwo, -4);
        Path version = Files.createDirectories(folder.resolve("models/digits/1"));
        Files.write(version.resolve("model.onnx"), model);
        Path other = Files.createDirectories(folder.resolve("models/simple/1"));
        Files.write(other.resolve("model.onnx"), Files.readAllBytes(MODELS.resolve("simple/1/model.onnx")));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            json   |
            json   | --grpc
            json   | --form=binary
            json   | --form=json --concurrency=4
            binary |
            binary | --grpc --rate=1000
            """)
    void recordedRequests_getEqualResponses(String form, String options) throws Exception {
        record(", form: " + form);
        Gateway target = embedded("");
        List<String> arguments = new ArrayList<>(List.of("--to", url(target), "--compare"));
        if (options != null) {
            arguments.addAll(List.of(options.split(" ", -1)));
        }
        assertThat(replay(arguments.toArray(String[]::new))).as(err.toString()).isZero();
        assertThat(out.toString())
                .contains(
                        "sent 3: 2 answered, 1 failed (1 as recorded); 0 skipped", "compared 2: 2 equal, 0 different");
    }

    @Test
    void generateAndRawRequests_areSkipped() throws Exception {
        String event = "{\"specversion\":\"1.0\",\"id\":\"x\",\"inferenceservicename\":\"m\","
                + "\"type\":\"org.kubeflow.serving.inference.request\",";
        Files.writeString(
                file(),
                event + "\"operation\":\"generate\",\"data\":{\"text_input\":1}}\n" + event
                        + "\"jsonlength\":\"0\",\"data_base64\":\"AQID\"}\n");
        assertThat(replay("--to", url(embedded("")))).as(err.toString()).isZero();
        assertThat(out.toString()).contains("sent 0: 0 answered, 0 failed (0 as recorded); 2 skipped, 0 bad lines");
    }

    @Test
    void otherModel_isReportedWithItsWorstTensor() throws Exception {
        record("");
        otherDigits();
        Gateway target = gateway("{listeners: [{port: 0}], health: {warm_up: 0s}, "
                + "local: {model_repository: models}, default_upstream: local}");
        assertThat(replay("--to", url(target), "--compare", "-o", "json"))
                .as(err.toString())
                .isEqualTo(1);
        JsonNode report = new ObjectMapper().readTree(out.toString());
        assertThat(report.path("equal").asInt()).isEqualTo(1);
        assertThat(report.path("different").asInt()).isEqualTo(1);
        assertThat(report.path("outputs").findValuesAsText("worst"))
                .anyMatch(worst -> worst.matches("largest difference \\d\\..*, request '.*' in line 1"));
        assertThat(replay("--to", url(target), "--compare", "--atol", "1")).isZero();
    }

    @Test
    void otherName_isRequested() throws Exception {
        record("");
        otherDigits();
        Files.move(folder.resolve("models/simple"), folder.resolve("models/renamed"));
        Gateway target = gateway("{listeners: [{port: 0}], health: {warm_up: 0s}, "
                + "local: {model_repository: models}, default_upstream: local}");
        assertThat(replay("--to", url(target), "--model", "simple=renamed/1", "--model", "digits=renamed"))
                .isEqualTo(1);
        assertThat(out.toString()).contains("1 answered, 2 failed (0 as recorded)");
        assertThat(err.toString()).contains(file() + ":1: request '", "failed: INVALID_ARGUMENT");
    }

    @Test
    void requestsOnly_areALoad() throws Exception {
        record(", events: request, omit: {tensors: [image]}", 3);
        Gateway target = embedded("");
        assertThat(replay("--to", url(target), "--rate", "100")).isEqualTo(1);
        assertThat(out.toString()).contains("sent 2: 1 answered, 1 failed (0 as recorded); 1 skipped", "latency: p50 ");
        assertThat(err.toString()).contains(file() + ":3: request '", "failed: NOT_FOUND");
    }

    /** As KServe's logger writes them: without a code; and messages of a stream, whose ids are not those of pairs. */
    @Test
    void eventsWithoutCode_areCompared_thoseOfStreamsAreNot() throws Exception {
        record("");
        String recorded = Files.readString(file());
        Gateway target = embedded("");
        Files.writeString(file(), recorded.replace("\"code\":\"OK\",", ""));
        assertThat(replay("--to", url(target), "--compare")).isZero();
        assertThat(out.toString()).contains("compared 2: 2 equal");
        Files.writeString(file(), recorded.replace("\"protocol\"", "\"stream\":\"true\",\"protocol\""));
        assertThat(replay("--to", url(target), "--compare")).isEqualTo(1);
        assertThat(out.toString()).contains("sent 3: 2 answered, 1 failed (0 as recorded)", "compared 0:");
    }

    @Test
    void badLines_areNamed_andTheRestIsSent() throws Exception {
        record("");
        String good = Files.readString(file());
        Files.writeString(
                file(),
                "{\"specversion\":\"1.0\",\"id\"\n" + good + "[1]\n{}\n"
                        + "{\"specversion\":\"1.0\",\"id\":\"x\",\"type\":\"other\"}\n"
                        + "{\"specversion\":\"1.0\",\"id\":\"x\",\"inferenceservicename\":\"m\","
                        + "\"type\":\"org.kubeflow.serving.inference.request\",\"data\":{\"inputs\":1}}");
        Gateway target = embedded("");
        assertThat(replay("--to", url(target), "--compare")).isEqualTo(2);
        assertThat(out.toString()).contains("compared 2: 2 equal, 0 different", "5 bad lines");
        assertThat(err.toString())
                .contains(
                        file() + ":1: a JSON object is expected",
                        file() + ":8: a JSON object is expected",
                        file() + ":9: a CloudEvent with specversion 1.0 is expected",
                        file() + ":10: type: org.kubeflow.serving.inference.request or "
                                + "org.kubeflow.serving.inference.response is expected, got 'other'",
                        file() + ":11: a valid request is expected: ");
    }

    @Test
    void serverThatIsGone_isSaid() throws Exception {
        Files.writeString(file(), "");
        String gone = "http://" + TestConfigs.unusedEndpoint().authority();
        assertThat(replay("--to", gone)).isEqualTo(1);
        assertThat(err.toString()).contains(gone + " does not respond");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "|--to: HOST:PORT, http://HOST:PORT or https://HOST:PORT is expected, got none",
                "--to=a:65536|--to: HOST:PORT, http://HOST:PORT or https://HOST:PORT is expected, got 'a:65536'",
                "--to=ftp://a|--to: HOST:PORT, http://HOST:PORT or https://HOST:PORT is expected, got 'ftp://a'",
                "--to=http://a/v2|--to: HOST:PORT, http://HOST:PORT or https://HOST:PORT is expected, got 'http://a/v2'",
                "--to=http://a --rate=-1|--rate: a number of at least 0 and at most 1000000 is expected, got '-1'",
                "--to=http://a --rtol=x|--rtol: a number of at least 0 is expected, got 'x'",
                "--to=http://a --concurrency=0|--concurrency: a number from 1 to 10000 is expected, got '0'",
                "--to=http://a --form=xml|--form: one of auto, json, binary is expected, got 'xml'",
                "--to=http://a --model=a=..|--model: model name '..'",
            })
    void wrongArguments_areNamed(String line) throws IOException {
        Files.writeString(file(), "");
        String[] parts = line.split("\\|", 2);
        assertThat(replay(parts[0].isEmpty() ? new String[0] : parts[0].split(" ", -1)))
                .isEqualTo(2);
        assertThat(err.toString()).contains(parts[1]);
    }
}
