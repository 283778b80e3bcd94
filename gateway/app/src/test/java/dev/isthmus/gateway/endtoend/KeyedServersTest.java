package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.reload.ConfigFile;
import dev.isthmus.gateway.reload.ConfigWatcher;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The real Triton and MLServer behind an nginx that asks for a key, a host and a path, and says which key it got. */
@ExtendWith(RealServers.Shared.class)
class KeyedServersTest {
    private static final String NGINX = """
            server {
                listen 127.0.0.1:REST_PORT;
                add_header x-got $http_authorization always;
                location / { return 302 https://login.example/start?s=1; }
                location /serving/ns/ {
                    if ($host != "mlserver.example") { return 421; }
                    if ($http_authorization !~ "^Bearer k3y-[12]$") { return 401; }
                    proxy_pass http://127.0.0.1:MLSERVER/;
                    proxy_http_version 1.1;
                    proxy_set_header Connection "";
                }
            }
            server {
                listen 127.0.0.1:GRPC_PORT http2;
                location / {
                    if ($host != "triton.example") { return 421; }
                    if ($http_x_model_key !~ "^k3y-[12]$") { return 401; }
                    grpc_pass grpc://127.0.0.1:TRITON;
                }
            }
            """;

    private static final String GATEWAY = """
            listeners: [{port: 0, management: allow}]
            admin: {port: 0}
            headers: {forward: [authorization, x-model-key], return: [x-got]}
            upstreams:
              mlserver:
                protocol: rest
                endpoints: ["127.0.0.1:REST_PORT"]
                host: mlserver.example
                path_prefix: /serving/ns
                headers: {Authorization: "Bearer ${file:key}"}
              triton:
                protocol: grpc
                endpoints: ["127.0.0.1:GRPC_PORT"]
                host: triton.example:8001
                headers: {x-model-key: "${file:key}"}
              keyless:
                protocol: rest
                endpoints: ["127.0.0.1:REST_PORT"]
                host: mlserver.example
                path_prefix: /serving/ns
              elsewhere: {protocol: rest, endpoints: ["127.0.0.1:REST_PORT"]}
            models:
              iris: {upstream: mlserver}
              simple: {upstream: triton}
              refused: {upstream: keyless, model: iris}
              redirected: {upstream: elsewhere, model: iris}
            answers: {errors: passed}
            """;

    private static final String IRIS = """
            {"inputs": [{"name": "predict", "shape": [1, 4], "datatype": "FP32", "data": [5.1, 3.5, 1.4, 0.2]}]}""";
    private static final String SIMPLE = """
            {"inputs": [{"name": "INPUT0", "shape": [1, 16], "datatype": "INT32", "data": [DATA]},
            {"name": "INPUT1", "shape": [1, 16], "datatype": "INT32", "data": [DATA]}]}
            """.replace("DATA", "1" + ", 1".repeat(15));

    @TempDir
    Path folder = Path.of(".");

    private final HttpClient client = HttpClient.newHttpClient();
    private NginxServer nginx;
    private ConfigFile config;
    private Gateway gateway;

    private String fill(String text, RealServers servers, int restPort, int grpcPort) {
        return text.replace("REST_PORT", Integer.toString(restPort))
                .replace("GRPC_PORT", Integer.toString(grpcPort))
                .replace("MLSERVER", Integer.toString(servers.mlserver.httpPort))
                .replace("TRITON", Integer.toString(servers.triton.grpcPort));
    }

    @BeforeEach
    void start(RealServers servers) throws Exception {
        servers.mlserver.awaitReady();
        servers.triton.awaitReady();
        int restPort = RealServer.freePort();
        int grpcPort = RealServer.freePort();
        nginx = NginxServer.start(folder, fill(NGINX, servers, restPort, grpcPort), restPort, grpcPort);
        Files.writeString(folder.resolve("key"), "k3y-1\n");
        Path file = Files.writeString(folder.resolve("isthmus.yaml"), fill(GATEWAY, servers, restPort, grpcPort));
        config = new ConfigFile(List.of(file), read -> read);
        gateway = Gateway.start(config);
    }

    @AfterEach
    void stop() {
        client.close();
        gateway.close();
        nginx.close();
    }

    private HttpResponse<String> send(HttpRequest.Builder request, String path) throws Exception {
        URI to = URI.create("http://" + TestGateways.address(gateway) + path);
        return client.send(
                request.uri(to)
                        .header("authorization", "Bearer of-client")
                        .header("x-model-key", "of-client")
                        .build(),
                BodyHandlers.ofString());
    }

    private HttpResponse<String> post(String path, String body) throws Exception {
        return send(HttpRequest.newBuilder().POST(HttpRequest.BodyPublishers.ofString(body)), path);
    }

    private HttpResponse<String> get(String path) throws Exception {
        return send(HttpRequest.newBuilder(), path);
    }

    private void awaitReady(String model) {
        await().atMost(Duration.ofSeconds(30))
                .until(() -> get("/v2/models/" + model + "/ready").statusCode() == 200);
    }

    @Test
    void everyRequest_hasTheKey() throws Exception {
        awaitReady("iris");
        awaitReady("simple");

        assertThat(post("/v2/models/simple/infer", SIMPLE).statusCode()).isEqualTo(200);
        assertThat(post("/v2/models/simple/infer_stream", SIMPLE).body()).contains("OUTPUT0");
        assertThat(get("/v2/models/simple").body()).contains("INPUT0");
        assertThat(get("/v2/models/simple/config").body()).contains("max_batch_size");
        assertThat(get("/v2/models/simple/stats").body()).contains("inference_count");
        assertThat(get("/v2/models/iris").body()).contains("predict");
        assertThat(post("/v2/repository/index", "{}").body()).contains("iris", "simple");
    }

    @Test
    void clientsKey_doesNotGetThrough_withoutOneOfTheGateway() throws Exception {
        awaitReady("iris");
        assertThat(post("/v2/models/refused/infer", IRIS).statusCode()).isEqualTo(401);
    }

    @Test
    void redirect_isAFailureThatSaysSo() throws Exception {
        awaitReady("iris");
        HttpResponse<String> response = post("/v2/models/redirected/infer", IRIS);
        assertThat(response.statusCode()).isEqualTo(502);
        assertThat(response.body())
                .contains("upstream 'elsewhere' redirects to 'https://login.example/start' (status 302), which is not"
                        + " followed");
    }

    @Test
    void keyInAFile_isReadAgain() throws Exception {
        awaitReady("iris");
        try (ConfigWatcher _ = ConfigWatcher.start(config, gateway::reload, true)) {
            assertThat(post("/v2/models/iris/infer", IRIS).headers().firstValue("x-got"))
                    .hasValue("Bearer k3y-1");

            Files.writeString(folder.resolve("key"), "k3y-2\n");
            await().atMost(Duration.ofSeconds(30))
                    .until(() -> post("/v2/models/iris/infer", IRIS)
                            .headers()
                            .firstValue("x-got")
                            .orElse("")
                            .equals("Bearer k3y-2"));
            assertThat(post("/v2/models/simple/infer", SIMPLE).statusCode()).isEqualTo(200);
        }
    }

    @Test
    void key_isShownNowhere() throws Exception {
        awaitReady("iris");
        for (String page : List.of("/config", "/servers", "/problems", "/metrics")) {
            URI admin = URI.create(
                    "http://127.0.0.1:" + gateway.adminAddress().orElseThrow().getPort() + page);
            String shown = client.send(HttpRequest.newBuilder(admin).build(), BodyHandlers.ofString())
                    .body();
            assertThat(shown).as(page).isNotEmpty().doesNotContain("k3y");
        }
    }
}
