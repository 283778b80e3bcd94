package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.ByteString;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.explain.RouteExplanation.LayerExplanation;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The project in examples/feature-lookup: its jar in a real gateway, in front of a real model. */
class ExampleLayerTest {
    private static final Path PROJECT = Path.of(System.getProperty("isthmus.root", ".."), "examples/feature-lookup");
    private static final String CONFIG = """
            listeners: [{port: 0}]
            local: {embedded_models: true}
            default_upstream: local
            answers: {errors: passed}
            layers:
              folder: layers
              add:
                - name: feature_lookup
                  after: routing
                  settings: {model: digits, ids: id, features: image, table: TABLE}
            """;

    @TempDir
    Path folder;

    private JsonNode sample = new ObjectMapper().createObjectNode();

    @BeforeEach
    void makeFolder() throws IOException {
        Path classes = PROJECT.resolve("target/classes");
        Path jar = Files.createDirectory(folder.resolve("layers")).resolve("feature-lookup.jar");
        try (InputStream manifest = Files.newInputStream(classes.resolve("META-INF/MANIFEST.MF"));
                JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar), new Manifest(manifest));
                Stream<Path> files = Files.walk(classes)) {
            for (Path each :
                    files.filter(file -> file.toString().endsWith(".class")).toList()) {
                out.putNextEntry(new JarEntry(classes.relativize(each).toString()));
                Files.copy(each, out);
            }
        }
        try (InputStream in = Objects.requireNonNull(getClass().getResourceAsStream("/models/digits/sample.json"))) {
            sample = new ObjectMapper().readTree(in);
        }
        List<String> numbers = new ArrayList<>();
        sample.at("/inputs/0/data").forEach(each -> numbers.add(each.asText()));
        String zeros = ",0".repeat(numbers.size());
        Files.writeString(
                folder.resolve("users.csv"), "7," + String.join(",", numbers) + "\n8" + zeros + "\nx" + zeros);
    }

    private Path config(String text) throws IOException {
        return Files.writeString(folder.resolve("isthmus.yaml"), text);
    }

    private static HttpResponse<String> post(Gateway gateway, String body) throws Exception {
        try (HttpClient client = HttpClient.newHttpClient()) {
            return client.send(
                    HttpRequest.newBuilder(
                                    URI.create("http://" + TestGateways.address(gateway) + "/v2/models/digits/infer"))
                            .POST(HttpRequest.BodyPublishers.ofString(body))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
        }
    }

    private static String ids(String type, String shape, String ids) {
        return "{\"inputs\": [{\"name\": \"id\", \"datatype\": \"" + type + "\", \"shape\": " + shape + ", \"data\": "
                + ids + "}]}";
    }

    private static JsonNode outputs(HttpResponse<String> response) throws IOException {
        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        return new ObjectMapper().readTree(response.body()).get("outputs");
    }

    @Test
    void ids_areReplacedByTheirFeatures_overRestAndGrpc() throws Exception {
        Path file = config(CONFIG.replace("TABLE", "users.csv"));
        try (Gateway gateway = Gateway.start(ConfigLoader.load(file))) {
            JsonNode expected = outputs(post(gateway, sample.toString()));
            assertThat(outputs(post(gateway, ids("INT64", "[1]", "[7]")))).isEqualTo(expected);
            assertThat(outputs(post(gateway, ids("BYTES", "[1, 1]", "[\"7\"]"))))
                    .isEqualTo(expected);
            JsonNode two = outputs(post(gateway, ids("INT32", "[2]", "[8, 7]")));
            assertThat(two.at("/0/shape/0").asInt()).isEqualTo(2);
            assertThat(two.at("/0/data/1")).isEqualTo(expected.at("/0/data/0"));
            assertThat(grpcLabel(gateway)).isEqualTo(expected.at("/0/data/0").asLong());

            HttpResponse<String> unknown = post(gateway, ids("INT64", "[1]", "[9]"));
            assertThat(unknown.statusCode()).isEqualTo(400);
            assertThat(unknown.body()).contains("input 'id': a known id is expected, got '9'");
            assertThat(gateway.meters()
                            .get("feature.lookup.ids")
                            .tag("result", "unknown")
                            .counter()
                            .count())
                    .isEqualTo(1);
        }
    }

    /** The first element of the first output. */
    private static long grpcLabel(Gateway gateway) throws Exception {
        ModelInferRequest request = ModelInferRequest.newBuilder()
                .setModelName("digits")
                .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                        .setName("id")
                        .setDatatype("BYTES")
                        .addShape(1))
                .addRawInputContents(ByteString.copyFrom("\1\0\0\0" + "7", StandardCharsets.ISO_8859_1))
                .build();
        ManagedChannel channel = NettyChannelBuilder.forTarget(TestGateways.address(gateway))
                .usePlaintext()
                .build();
        try {
            byte[] response = ClientCalls.blockingUnaryCall(
                    channel, FakeGrpcServer.bytes("ModelInfer"), CallOptions.DEFAULT, request.toByteArray());
            return ModelInferResponse.parseFrom(response)
                    .getRawOutputContents(0)
                    .asReadOnlyByteBuffer()
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .getLong();
        } finally {
            channel.shutdownNow();
        }
    }

    @Test
    void explain_saysWhatItDoes() throws Exception {
        Path file = config(CONFIG.replace("TABLE", "users.csv"));
        assertThat(LayerExplanation.of(ConfigLoader.load(file), ModelConfig.DEFAULT))
                .containsSubsequence(
                        new LayerExplanation("routing", "finds the route of the model"),
                        new LayerExplanation(
                                "feature_lookup", "Replaces an input of ids by the feature vectors of a table."));
    }

    @Test
    void tableThatIsNotThere_isRefused_withItsLine() throws Exception {
        Path file = config(CONFIG.replace("TABLE", "nobody.csv"));
        assertThatThrownBy(() -> ConfigLoader.load(file))
                .isInstanceOf(ConfigException.class)
                .hasMessageContaining("isthmus.yaml:10:")
                .hasMessageContaining("'table': a readable file is expected");
    }

    @Test
    void tableThatCannotBeRead_isRefusedAtTheStart() throws Exception {
        Files.writeString(folder.resolve("users.csv"), "1,0.5\n2,0.5,0.5\n");
        Path file = config(CONFIG.replace("TABLE", "users.csv"));
        assertThatThrownBy(() -> Gateway.start(ConfigLoader.load(file)))
                .hasMessageContaining("the layer 'feature_lookup' cannot be created: ")
                .hasMessageContaining("users.csv:2: an id and 1 features are expected");
    }
}
