package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.Gateway;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Requests compared with the metadata of real models, as Triton, MLServer, KServe and the local backend describe them. */
@ExtendWith(RealServers.Shared.class)
class RealValidationTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private static String input(String name, String datatype, String shape, int elements) {
        return "{\"name\":\"" + name + "\",\"datatype\":\"" + datatype + "\",\"shape\":" + shape + ",\"data\":["
                + "1,".repeat(elements - 1) + "1]}";
    }

    private static String request(String outputs, String... inputs) {
        return "{\"inputs\":[" + String.join(",", inputs) + "]" + outputs + "}";
    }

    private static String simple(String datatype, String shape, int elements) {
        return request("", input("INPUT0", datatype, shape, elements), input("INPUT1", datatype, shape, elements));
    }

    /** {@code ok}, or the error. */
    private static String sent(HttpClient client, Gateway gateway, String model, String body) throws Exception {
        URI to = URI.create("http://" + TestGateways.address(gateway) + "/v2/models/" + model + "/infer");
        HttpResponse<String> response = client.send(
                HttpRequest.newBuilder(to)
                        .POST(HttpRequest.BodyPublishers.ofString(body))
                        .build(),
                BodyHandlers.ofString());
        return response.statusCode() == 200
                ? "ok"
                : response.body().replace("{\"error\":\"", "").replace("\"}", "");
    }

    @Test
    void requestsThatDoNotMatch_areRefused_othersAnswered(RealServers servers) throws Exception {
        servers.awaitReady();
        try (Gateway gateway = TestGateways.start(
                        """
                        listeners: [{port: 0}]
                        validate: strict
                        upstreams:
                          triton: {protocol: grpc, endpoints: ["127.0.0.1:%d"]}
                          mlserver: {protocol: rest, endpoints: ["127.0.0.1:%d"]}
                          kserve: {protocol: rest, endpoints: ["127.0.0.1:%d"]}
                        local: {embedded_models: true}
                        models:
                          simple: {upstream: triton}
                          embedded: {upstream: local, model: simple}
                          iris: {upstream: mlserver}
                          identity: {upstream: mlserver}
                          numpy: {upstream: kserve}
                        """.formatted(servers.triton.grpcPort, servers.mlserver.httpPort, servers.kserve.httpPort));
                HttpClient client = HttpClient.newHttpClient()) {
            TestGateways.awaitReady(gateway);
            for (String model : new String[] {"simple", "embedded"}) {
                awaitRefused(
                        client,
                        gateway,
                        model,
                        simple("FP32", "[1,16]", 16),
                        "input 'INPUT0' of model '" + model + "': datatype INT32 is expected, got FP32");
                assertThat(sent(client, gateway, model, simple("INT32", "[1,16]", 16)))
                        .isEqualTo("ok");
            }
            assertThat(sent(client, gateway, "simple", simple("INT32", "[3,16]", 48)))
                    .isEqualTo("ok");
            assertThat(sent(client, gateway, "simple", simple("INT32", "[16]", 16)))
                    .isEqualTo("input 'INPUT0' of model 'simple': shape [-1,16] is expected, got [16]");
            awaitRefused(
                    client,
                    gateway,
                    "iris",
                    request("", input("predict", "FP32", "[1,3]", 3)),
                    "input 'predict' of model 'iris': shape [-1,4] is expected, got [1,3]");
            String flower = input("predict", "FP32", "[1,4]", 4);
            assertThat(sent(client, gateway, "iris", request("", flower))).isEqualTo("ok");
            assertThat(sent(client, gateway, "iris", request(",\"outputs\":[{\"name\":\"proba\"}]", flower)))
                    .isEqualTo("model 'iris' has no output 'proba': 'predict' is expected");
            // They declare no inputs.
            for (String model : new String[] {"identity", "numpy"}) {
                assertThat(sent(client, gateway, model, request("", input("INPUT0", "FP32", "[2]", 2))))
                        .isEqualTo("ok");
            }
        }
    }

    private static void awaitRefused(HttpClient client, Gateway gateway, String model, String body, String because) {
        await().atMost(PATIENCE)
                .untilAsserted(
                        () -> assertThat(sent(client, gateway, model, body)).isEqualTo(because));
    }
}
