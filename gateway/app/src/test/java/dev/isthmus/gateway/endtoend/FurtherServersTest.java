package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.Gateway;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Gateways in front of servers that speak one of the two protocols: Dynamo, whose frontend in Rust serves gRPC, and
 * aiSSEMBLE, which serves JSON over REST. Clients of both protocols get what they serve, in each form of tensors.
 */
class FurtherServersTest {
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final List<String> DATATYPES = List.of(
            "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "fp32", "fp64", "bytes");

    @TempDir
    static Path folder = Path.of(".");

    private static RealServer dynamo;
    private static RealServer aissemble;

    /** Both start at the same time. */
    @BeforeAll
    static void start() throws Exception {
        dynamo = new RealServer("dynamo", folder);
        aissemble = new RealServer("aissemble", folder);
    }

    @AfterAll
    static void stop() {
        dynamo.close();
        aissemble.close();
    }

    @Test
    void dynamo() throws Exception {
        assertPasses(dynamo, "grpc", DATATYPES.stream().map("identity_"::concat), "health", "datatypes", "shapes");
    }

    @Test
    void aissemble() throws Exception {
        assertPasses(aissemble, "rest", Stream.of("identity"), "datatypes");
    }

    private static void assertPasses(RealServer server, String wire, Stream<String> models, String... chapters)
            throws Exception {
        try (Gateway gateway = TestGateways.start("""
                listeners: [{port: 0}]
                default_upstream: server
                upstreams:
                  server: {protocol: %s, endpoints: ["127.0.0.1:%d"]}
                """.formatted(wire, server.port(wire)))) {
            String address = TestGateways.address(gateway);
            for (String model : models.toList()) {
                await().atMost(PATIENCE).until(() -> ready(address, model));
            }
            TestGateways.awaitReady(gateway);
            List<String> arguments = new ArrayList<>(
                    List.of(address, "--grpc", address, "--models", server.name, "--timeout", "30", "--chapter"));
            arguments.addAll(List.of(chapters));
            Script.Outcome outcome = Script.run("score", arguments.toArray(String[]::new));
            assertThat(outcome.complaint()).isEmpty();
            assertThat(outcome.lastLine()).contains(" passed, 0 failed");
        }
    }

    private static boolean ready(String address, String model) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + address + "/v2/models/" + model + "/ready"))
                .build();
        try (HttpClient client = HttpClient.newHttpClient()) {
            return client.send(request, HttpResponse.BodyHandlers.discarding()).statusCode() == 200;
        }
    }
}
