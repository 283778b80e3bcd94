package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.TestConfigs;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls of a running gateway as they end, and gateways that say too little of them. */
class TapCommandTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String REQUEST =
            "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"INT32\",\"data\":[0]}]}";
    private static final String NOTHING = "{\"last_number\":0,\"matching_calls\":0,\"calls\":[]}";

    @TempDir
    Path folder = Path.of(".");

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private Gateway start() throws Exception {
        Path token = Files.writeString(folder.resolve("token"), "a-long-secret\n");
        Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-------"));
        return Gateway.start(ConfigLoader.parse(
                "test.yaml", """
                listeners: [{port: 0}]
                admin: {port: 0, token_file: token}
                health: {warm_up: 0s}
                local: {embedded_models: true}
                upstreams: {gone: {protocol: grpc, endpoints: ["%s"]}}
                models: {simple: {upstream: local}, lost: {upstream: gone}}
                """.formatted(TestConfigs.unusedEndpoint().authority()), folder));
    }

    private int tap(String... arguments) {
        List<String> all = new ArrayList<>(List.of("tap"));
        all.addAll(List.of(arguments));
        return IsthmusCommand.run(
                new Console(new PrintWriter(out), new PrintWriter(err, true), () -> false), all.toArray(String[]::new));
    }

    private int tap(Gateway gateway, String... arguments) {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(List.of(
                "--admin", "127.0.0.1:" + gateway.adminAddress().orElseThrow().getPort()));
        all.addAll(List.of("--token-file", folder.resolve("token").toString()));
        return tap(all.toArray(String[]::new));
    }

    /** Calls of both models, until it is interrupted. */
    private static Thread calls(Gateway gateway) {
        String url = "http://127.0.0.1:" + gateway.addresses().getFirst().getPort();
        return Thread.ofVirtual().start(() -> {
            try (HttpClient client = HttpClient.newHttpClient()) {
                while (true) {
                    for (String model : List.of("simple", "lost")) {
                        HttpRequest request = HttpRequest.newBuilder(URI.create(url + "/v2/models/" + model + "/infer"))
                                .POST(HttpRequest.BodyPublishers.ofString(model.equals("lost") ? REQUEST : "{}"))
                                .build();
                        client.send(request, HttpResponse.BodyHandlers.discarding());
                    }
                }
            } catch (InterruptedException | IOException e) {
                Thread.currentThread().interrupt();
            }
        });
    }

    @Test
    void callsThatMatch_arePrintedAsTheyEnd() throws Exception {
        try (Gateway gateway = start()) {
            Thread calls = calls(gateway);
            assertThat(tap(gateway, "--code", "5xx", "--upstream", "gon", "-n", "3"))
                    .as(err.toString())
                    .isZero();
            assertThat(out.toString().lines())
                    .hasSize(3)
                    .allMatch(line -> line.matches("[0-9-]+T[0-9:.]+Z 503 code=UNAVAILABLE cause=\\w+ model=lost"
                            + " upstream=gone .*request_id=\\S+ ms=[0-9.]+: .*"));
            out.getBuffer().setLength(0);
            assertThat(tap(gateway, "--model", "SIMP", "--code", "4xx", "-n", "1", "-o", "json"))
                    .as(err.toString())
                    .isZero();
            calls.interrupt();
            calls.join();
            JsonNode call = JSON.readTree(out.toString());
            assertThat(call.path("model").asText()).isEqualTo("simple");
            assertThat(call.path("status").asInt()).isEqualTo(400);
        }
    }

    @Test
    void whatCannotBeTapped_isSaid() throws Exception {
        try (Gateway gateway = start()) {
            assertThat(tap(gateway, "--code", "6xx")).isEqualTo(1);
            assertThat(err.toString()).contains("parameter 'code': 5xx, a status", "is expected, got '6xx'");
            assertThat(tap(
                            "--admin",
                            "127.0.0.1:" + gateway.adminAddress().orElseThrow().getPort()))
                    .isEqualTo(1);
            assertThat(err.toString()).contains("name its file with --token-file");
        }
        assertThat(tap("--admin", TestConfigs.unusedEndpoint().authority())).isEqualTo(1);
        assertThat(err.toString()).contains(": connection refused; 'admin' in");
        assertThat(tap("-n", "0")).isEqualTo(2);
        assertThat(err.toString()).contains("-n, --count: a number from 1 to 1000000 is expected, got '0'");
    }

    private static String calls(int last, int matching, int... numbers) {
        List<String> calls = new ArrayList<>();
        for (int number : numbers) {
            calls.addFirst("{\"number\":" + number + ",\"status\":200,\"model\":\"m\\n\",\"duration_ms\":1.5}");
        }
        return "{\"last_number\":" + last + ",\"matching_calls\":" + matching + ",\"calls\":" + calls + "}";
    }

    /** A tap of a gateway that answers with these documents, one after the other, and then with none. */
    private int tapOf(String... documents) throws IOException {
        Iterator<String> next = List.of(documents).iterator();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            byte[] body = (next.hasNext() ? next.next() : "gone").getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, body.length);
            try (var to = exchange.getResponseBody()) {
                to.write(body);
            }
        });
        server.start();
        try {
            return tap("--admin", "127.0.0.1:" + server.getAddress().getPort());
        } finally {
            server.stop(0);
        }
    }

    @Test
    void missingCalls_areCounted() throws IOException {
        assertThat(tapOf(NOTHING, calls(30, 30, 1, 2), calls(30, 30), calls(50, 50, 31), calls(50, 50)))
                .isEqualTo(1);
        assertThat(out.toString().lines()).hasSize(3).containsOnly("200 model=m? ms=1.5");
        assertThat(err.toString().lines())
                .hasSize(3)
                .anyMatch(line -> line.contains(" 28 calls are missing: there are more than the gateway keeps"))
                .anyMatch(line -> line.contains(" 19 calls are missing"))
                .last()
                .asString()
                .contains("is not the admin address of a gateway");
    }

    @Test
    void gatewayThatBeginsAgain_isFollowed() throws IOException {
        assertThat(tapOf(NOTHING, calls(7, 1, 7), calls(1, 1), calls(2, 2, 1, 2), calls(2, 2)))
                .isEqualTo(1);
        assertThat(out.toString().lines()).hasSize(3);
        assertThat(err.toString().lines())
                .hasSize(2)
                .first()
                .asString()
                .contains("the gateway was not asked for 10 s, or has begun again");
    }
}
