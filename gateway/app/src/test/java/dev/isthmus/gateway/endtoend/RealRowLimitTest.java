package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.Gateway;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests to a model on a real Triton are joined if its configuration allows it, also after it is loaded again. */
class RealRowLimitTest {
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int AT_ONCE = 32;

    private final HttpClient client = HttpClient.newHttpClient();

    @TempDir
    static Path folder = Path.of(".");

    private static RealServer triton;

    private static String config(String protocol) {
        return """
            listeners: [{port: 0, management: allow}]
            upstreams:
              triton: {protocol: %s, endpoints: ["127.0.0.1:%d"]}
            models:
              simple: {upstream: triton, batching: {max_queue_delay_microseconds: 300000}}
            """.formatted(protocol, triton.port(protocol));
    }

    private CompletableFuture<HttpResponse<String>> sendAsync(Gateway gateway, String path, String body) {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + TestGateways.address(gateway) + path))
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build();
        return client.sendAsync(request, HttpResponse.BodyHandlers.ofString());
    }

    private static double calls(Gateway gateway) {
        return gateway.meters().get("isthmus.batching.calls").counter().count();
    }

    private static double refused(Gateway gateway) {
        return gateway.meters()
                .get("isthmus.batching.requests")
                .tag("outcome", "refused")
                .counter()
                .count();
    }

    private static String tensor(String name) {
        return "{\"name\":\"" + name + "\",\"datatype\":\"INT32\",\"shape\":[1,16],\"data\":["
                + Stream.generate(() -> "1").limit(16).collect(Collectors.joining(",")) + "]}";
    }

    private void inferAtOnce(Gateway gateway) {
        String body = "{\"inputs\":[" + tensor("INPUT0") + "," + tensor("INPUT1") + "]}";
        List<CompletableFuture<HttpResponse<String>>> responses = Stream.generate(
                        () -> sendAsync(gateway, "/v2/models/simple/infer", body))
                .limit(AT_ONCE)
                .toList();
        assertThat(responses)
                .allSatisfy(each -> assertThat(each.join().statusCode()).isEqualTo(200));
    }

    private void inferUntil(Gateway gateway, BooleanSupplier condition) {
        await().atMost(PATIENCE).pollInterval(Duration.ofMillis(1)).until(() -> {
            inferAtOnce(gateway);
            return condition.getAsBoolean();
        });
    }

    private void load(Gateway gateway, int maxBatchSize) throws IOException {
        HttpRequest read = HttpRequest.newBuilder(
                        URI.create("http://" + TestGateways.address(gateway) + "/v2/models/simple/config"))
                .build();
        ObjectNode config = (ObjectNode) JSON.readTree(client.sendAsync(read, HttpResponse.BodyHandlers.ofString())
                .join()
                .body());
        config.put("max_batch_size", maxBatchSize);
        ObjectNode load = JSON.createObjectNode();
        load.putObject("parameters").put("config", config.toString());
        assertThat(sendAsync(gateway, "/v2/repository/models/simple/load", load.toString())
                        .join()
                        .statusCode())
                .isEqualTo(200);
    }

    @BeforeAll
    static void start() throws Exception {
        triton = RealServer.tritonWith(folder.resolve("models"), "simple");
        triton.awaitReady();
    }

    @AfterAll
    static void stop() {
        triton.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"grpc", "rest"})
    void configurationThatIsLoaded_decides(String protocol) throws Exception {
        try (Gateway gateway = TestGateways.start(config(protocol))) {
            TestGateways.awaitReady(gateway);
            inferUntil(gateway, () -> calls(gateway) > 0);
            load(gateway, 1);
            inferUntil(gateway, () -> refused(gateway) > 0);
            load(gateway, 8);
            double before = calls(gateway);
            inferUntil(gateway, () -> calls(gateway) > before);
        }
    }
}
