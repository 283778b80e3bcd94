package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.Gateway;
import io.micrometer.core.instrument.Counter;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Requests that are joined in front of a real MLServer and Triton get, byte for byte, what they get alone. */
@ExtendWith(RealServers.Shared.class)
class RealBatchingTest {
    private static final int AT_ONCE = 16;
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    @SuppressWarnings("InlineFormatString") // is read more easily on its own
    private static final String CONFIG = """
            listeners: [{port: 0}]
            upstreams:
              triton: {protocol: grpc, endpoints: ["127.0.0.1:%d"]}
              mlserver: {protocol: rest, endpoints: ["127.0.0.1:%d"]}
              mlserver-grpc: {protocol: grpc, endpoints: ["127.0.0.1:%d"]}
            models:
              joined-simple: {upstream: triton, model: simple, batching: {max_queue_delay_microseconds: 300000}}
              joined-fp32: {upstream: triton, model: identity_fp32, batching: {max_queue_delay_microseconds: 300000}}
              joined-int8: {upstream: triton, model: simple_int8, batching: {max_queue_delay_microseconds: 300000}}
              joined-bytes: {upstream: triton, model: simple_identity, batching: {max_queue_delay_microseconds: 300000}}
              joined-fail: {upstream: triton, model: fail, batching: {max_queue_delay_microseconds: 300000}}
              iris: {upstream: mlserver}
              joined-iris: {upstream: mlserver, model: iris, batching: {max_queue_delay_microseconds: 300000}}
              grpc-iris: {upstream: mlserver-grpc, model: iris}
              joined-grpc-iris: {upstream: mlserver-grpc, model: iris, batching: {max_queue_delay_microseconds: 300000}}
              identity: {upstream: mlserver}
              joined-identity: {upstream: mlserver, model: identity, batching: {max_queue_delay_microseconds: 300000}}
            default_upstream: triton
            """;

    private final HttpClient client = HttpClient.newHttpClient();
    private final Random random = new Random(20_261_126);
    private Gateway gateway;

    @BeforeEach
    void start(RealServers servers) throws Exception {
        servers.awaitReady();
        gateway = TestGateways.start(
                CONFIG.formatted(servers.triton.grpcPort, servers.mlserver.httpPort, servers.mlserver.grpcPort));
        TestGateways.awaitReady(gateway);
    }

    @AfterEach
    void stop() {
        gateway.close();
        client.close();
    }

    private HttpRequest request(String model, String body) {
        return HttpRequest.newBuilder(
                        URI.create("http://" + TestGateways.address(gateway) + "/v2/models/" + model + "/infer"))
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build();
    }

    /** The status and the body, with the model's own name. */
    private static String answer(HttpResponse<String> response, String model, String own) {
        return response.statusCode() + " " + response.body().replace("\"" + model + "\"", "\"" + own + "\"");
    }

    private double calls(String model) {
        Counter counter = gateway.meters()
                .find("isthmus.batching.calls")
                .tag("model", model)
                .counter();
        return counter == null ? 0 : counter.count();
    }

    private double refused(String model) {
        return gateway.meters()
                .get("isthmus.batching.requests")
                .tags("model", model, "outcome", "refused")
                .counter()
                .count();
    }

    /** Sends the requests alone, then many at once until some were joined. */
    private void assertAsAlone(String alone, String joined, List<String> bodies) throws Exception {
        assertAsAlone(alone, joined, bodies, () -> calls(joined) > 0);
    }

    private void assertAsAlone(String alone, String joined, List<String> bodies, BooleanSupplier until)
            throws Exception {
        List<String> expected = new ArrayList<>();
        for (String body : bodies) {
            expected.add(
                    answer(client.send(request(alone, body), HttpResponse.BodyHandlers.ofString()), alone, "model"));
        }
        await().atMost(PATIENCE).pollInterval(Duration.ofMillis(1)).until(() -> {
            assertThat(atOnce(joined, bodies)).isEqualTo(expected);
            return until.getAsBoolean();
        });
    }

    private List<String> atOnce(String model, List<String> bodies) {
        List<CompletableFuture<HttpResponse<String>>> responses = bodies.stream()
                .map(body -> client.sendAsync(request(model, body), HttpResponse.BodyHandlers.ofString()))
                .toList();
        return responses.stream()
                .map(response -> answer(response.join(), model, "model"))
                .toList();
    }

    private static String input(String name, String datatype, int rows, int width, Stream<String> data) {
        return "{\"name\":\"" + name + "\",\"datatype\":\"" + datatype + "\",\"shape\":[" + rows + "," + width
                + "],\"data\":[" + data.collect(Collectors.joining(",")) + "]}";
    }

    private List<String> bodies(IntFunction<String> inputs) {
        List<String> bodies = new ArrayList<>();
        for (int i = 0; i < AT_ONCE; i++) {
            bodies.add("{\"id\":\"id-" + i + "\",\"inputs\":[" + inputs.apply(1 + random.nextInt(3)) + "]}");
        }
        return bodies;
    }

    private Stream<String> floats(int count) {
        return Stream.generate(() -> Float.toString(random.nextFloat() * 8)).limit(count);
    }

    private Stream<String> integers(int count) {
        return Stream.generate(() -> Integer.toString(random.nextInt(1000))).limit(count);
    }

    @Test
    void triton_severalInputsAndOutputs() throws Exception {
        assertAsAlone(
                "simple",
                "joined-simple",
                bodies(rows -> input("INPUT0", "INT32", rows, 16, integers(rows * 16)) + ","
                        + input("INPUT1", "INT32", rows, 16, integers(rows * 16))));
    }

    @Test
    void triton_smallIntegersAndBytes() throws Exception {
        assertAsAlone(
                "simple_int8",
                "joined-int8",
                bodies(rows -> input(
                                "INPUT0",
                                "INT8",
                                rows,
                                16,
                                Stream.generate(() -> "7").limit(rows * 16L)) + ","
                        + input(
                                "INPUT1",
                                "INT8",
                                rows,
                                16,
                                Stream.generate(() -> "-3").limit(rows * 16L))));
        assertAsAlone(
                "simple_identity",
                "joined-bytes",
                bodies(rows -> input(
                        "INPUT0",
                        "BYTES",
                        rows,
                        2,
                        Stream.generate(() -> "\"" + "x".repeat(random.nextInt(40)) + "é\"")
                                .limit(rows * 2L))));
    }

    /** {@code max_batch_size} is 0 in its configuration. */
    @Test
    void triton_modelThatDoesNotBatch_getsItsRequestsAlone() throws Exception {
        assertAsAlone(
                "identity_fp32",
                "joined-fp32",
                bodies(rows -> input("INPUT0", "FP32", rows, 3, floats(rows * 3))),
                () -> refused("joined-fp32") > 0);
    }

    /** Its own batching gave all rows to one request and none to others (SeldonIO/MLServer#1306). */
    @Test
    void mlserver_eachRequestGetsItsRows() throws Exception {
        assertAsAlone("iris", "joined-iris", bodies(rows -> input("predict", "FP32", rows, 4, floats(rows * 4))));
        assertAsAlone(
                "grpc-iris", "joined-grpc-iris", bodies(rows -> input("predict", "FP32", rows, 4, floats(rows * 4))));
    }

    /** Its own batching ignored the requested outputs (SeldonIO/MLServer#514). */
    @Test
    void mlserver_eachRequestGetsTheOutputsThatItAsksFor() throws Exception {
        List<String> bodies = bodies(rows -> input("predict", "FP32", rows, 4, floats(rows * 4)));
        for (int i = 0; i < bodies.size(); i += 2) {
            String body = bodies.get(i);
            bodies.set(i, body.substring(0, body.length() - 1) + ",\"outputs\":[{\"name\":\"predict_proba\"}]}");
        }
        assertAsAlone("iris", "joined-iris", bodies);
    }

    /** Its own batching cut parameters off, and failed if one was no text (SeldonIO/MLServer#1541). */
    @Test
    void mlserver_parametersAreKept() throws Exception {
        List<String> bodies = new ArrayList<>();
        for (int i = 0; i < AT_ONCE; i++) {
            String input = input("docs", "INT32", 2, 1, integers(2));
            bodies.add("{\"id\":\"id-" + i + "\",\"parameters\":{\"kind\":" + i % 2
                    + "},\"inputs\":[" + input.substring(0, input.length() - 1)
                    + ",\"parameters\":{\"id\":\"123\",\"number\":7}}]}");
        }
        assertAsAlone("identity", "joined-identity", bodies);
    }

    @Test
    void triton_failures_areThoseOfEachRequestAlone() throws IOException, InterruptedException {
        List<String> bodies = bodies(rows -> input(
                "INPUT0", "BYTES", rows, 1, Stream.generate(() -> "\"no\"").limit(rows)));
        List<String> expected = new ArrayList<>();
        for (String body : bodies) {
            expected.add(
                    answer(client.send(request("fail", body), HttpResponse.BodyHandlers.ofString()), "fail", "model"));
        }
        assertThat(atOnce("joined-fail", bodies)).isEqualTo(expected);
    }
}
