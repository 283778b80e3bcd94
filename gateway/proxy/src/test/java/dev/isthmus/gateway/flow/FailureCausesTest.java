package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.upstream.FakeRestServer.ok;
import static dev.isthmus.gateway.upstream.FakeRestServer.write;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.oip.FailureCause;
import io.grpc.Metadata;
import io.grpc.Status;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Why calls fail, as the response header and the counters say: the cause tells apart what a code does not. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class FailureCausesTest {
    private static final String HEADER = "isthmus-cause";
    private static final Metadata.Key<String> METADATA = Metadata.Key.of(HEADER, Metadata.ASCII_STRING_MARSHALLER);

    private FakeRestServer server;
    private Stage stage;

    /** What a server does to a request depends on its id. */
    @BeforeAll
    void start() throws Exception {
        server = FakeRestServer.that((request, out) -> {
            if (request.body().contains("\"status\"")) {
                write(out, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
            } else if (request.body().contains("\"nonsense\"")) {
                write(out, "nonsense\r\n\r\n");
            } else if (request.body().contains("\"closes\"")) {
                return false;
            } else if (!request.body().contains("\"silent\"")) {
                write(out, ok(Infer.responseJson("m", "a", 1)));
            }
            return true;
        });
        UpstreamConfig plain = TestConfigs.with(
                Stage.rest(server, ServerDialect.MLSERVER),
                Map.of(
                        "breaker",
                        new UpstreamConfig.Breaker(1, 100, 100, Duration.ofHours(1)),
                        "retry",
                        TestConfigs.with(UpstreamConfig.Retry.DEFAULT, Map.of("retries", 0))));
        UpstreamConfig breaking =
                TestConfigs.with(plain, Map.of("breaker", new UpstreamConfig.Breaker(0.5, 1, 1, Duration.ofHours(1))));
        GatewayConfig config = Stage.config(
                Map.of(
                        "server",
                        plain,
                        "hasty",
                        TestConfigs.with(plain, Map.of("timeout", Duration.ofMillis(300))),
                        "breaking",
                        breaking,
                        "gone",
                        TestConfigs.upstream(UpstreamProtocol.REST, TestConfigs.unusedEndpoint())),
                Map.of(
                        "m", ModelConfig.of("server"),
                        "hasty", ModelConfig.of("hasty"),
                        "breaking", ModelConfig.of("breaking"),
                        "gone", ModelConfig.of("gone")),
                DefaultValues.of(GatewayConfig.HealthConfig.class),
                null,
                false);
        stage = Stage.with(TestConfigs.with(
                config, Map.of("answers", TestConfigs.with(Stage.RESPONSES, Map.of("cause", true)))));
        try (Http1Client client = stage.http1()) {
            // Opens the breaker.
            client.post("/v2/models/breaking/infer", Infer.json("status", 1)).response();
        }
    }

    @AfterAll
    void stop() throws Exception {
        stage.close();
        server.close();
    }

    private double counted(String cause) {
        return stage.proxy()
                .meters()
                .get("isthmus.requests.failed")
                .tag("cause", cause)
                .counter()
                .count();
    }

    @ParameterizedTest
    @CsvSource({
        "unknown,a,NOT_FOUND",
        "m,status,SERVER",
        "m,nonsense,BAD_RESPONSE",
        "m,closes,CONNECTION_LOST",
        "hasty,silent,TIMEOUT",
        "breaking,a,BREAKER",
        "gone,a,CONNECT",
    })
    void call_hasItsCause_overBothProtocols(String model, String id, FailureCause cause) throws Exception {
        double before = counted(cause.label());
        try (Http1Client client = stage.http1()) {
            Http1Client.Response rest = client.post("/v2/models/" + model + "/infer", Infer.json(id, 1))
                    .response();
            assertThat(rest.status()).isGreaterThanOrEqualTo(400);
            assertThat(rest.header(HEADER)).isEqualTo(cause.label());
        }
        GrpcClient grpc = GrpcClient.ask(
                stage.channel(),
                "ModelInfer",
                new Metadata(),
                Infer.request(model, id, 1).toByteArray());
        assertThat(grpc.status().isOk()).isFalse();
        assertThat(grpc.trailers().get(METADATA)).isEqualTo(cause.label());
        await().untilAsserted(() -> assertThat(counted(cause.label())).isGreaterThanOrEqualTo(before + 2));
    }

    @Test
    void deadlineOfTheClient_isNotTheRoutes() throws Exception {
        try (Http1Client client = stage.http1()) {
            Http1Client.Response late = client.post(
                            "/v2/models/m/infer", Infer.json("silent", 1), "X-Request-Timeout-Ms: 300")
                    .response();
            assertThat(late.status()).isEqualTo(504);
            assertThat(late.header(HEADER)).isEqualTo("client_deadline");
        }
    }

    @Test
    void requestThatIsRefusedBeforeItIsACall_hasItsCause() throws Exception {
        try (Http1Client client = stage.http1()) {
            Http1Client.Response invalid =
                    client.post("/v2/models/m/infer", "{").response();
            assertThat(invalid.header(HEADER)).isEqualTo("invalid");
            Http1Client.Response path = client.get("/v2/nothing").response();
            assertThat(path.header(HEADER)).isEqualTo("not_found");
            client.send(
                    "POST /v2/models/m/infer HTTP/1.1\r\nHost: a\r\nContent-Length: " + (Stage.LIMIT + 1) + "\r\n\r\n");
            assertThat(client.response().header(HEADER)).isEqualTo("too_large");
        }
    }

    /** gRPC has INTERNAL for it. */
    @Test
    void requestThatIsNotGrpc_isTheClientsMistake() throws Exception {
        GrpcClient client = GrpcClient.open(stage.channel(), "ModelInfer");
        byte[] message = Infer.request("m", "silent", 1).toByteArray();
        client.send(message);
        client.send(message);
        client.end();
        assertThat(client.status().getCode()).isEqualTo(Status.Code.INTERNAL);
        assertThat(client.trailers().get(METADATA)).isEqualTo("invalid");
    }

    @Test
    void success_hasNoHeader_andNeitherHasAFailureByDefault() throws Exception {
        try (Http1Client client = stage.http1();
                Stage silent = Stage.of(Stage.rest(server, ServerDialect.MLSERVER));
                Http1Client untold = silent.http1()) {
            Http1Client.Response good =
                    client.post("/v2/models/m/infer", Infer.json("a", 1)).response();
            assertThat(good.status()).isEqualTo(200);
            assertThat(good.head().headers()).doesNotContainKey(HEADER);
            Http1Client.Response bad = untold.get("/v2/nothing").response();
            assertThat(bad.status()).isEqualTo(404);
            assertThat(bad.head().headers()).doesNotContainKey(HEADER);
        }
    }
}
