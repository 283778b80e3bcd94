package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.upstream.FakeRestServer.ok;
import static dev.isthmus.gateway.upstream.FakeRestServer.write;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.SecretText;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Request and response headers between the four pairs of protocols. */
class HeadersTest {
    private static final String INFER = "/v2/models/m/infer";
    private static final Metadata.Key<byte[]> BINARY = Metadata.Key.of("x-flow-bin", Metadata.BINARY_BYTE_MARSHALLER);
    private static final byte[] ONE = {1, (byte) 0xff, 0};
    private static final byte[] TWO = {2};

    private static Metadata.Key<String> key(String name) {
        return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
    }

    private static List<String> all(Metadata metadata, String name) {
        Iterable<String> values = metadata.getAll(key(name));
        return values == null ? List.of() : List.of(String.join(",", values).split(", *", -1));
    }

    private static void expectBinary(Metadata metadata) {
        assertThat(metadata.getAll(BINARY)).containsExactly(ONE, TWO);
    }

    /** Sent by a gRPC peer: some of it is on the allow list, some is not. */
    private static Metadata sent() {
        Metadata metadata = new Metadata();
        metadata.put(key("x-request-id"), "7");
        metadata.put(key("x-flow-many"), "a");
        metadata.put(key("x-flow-many"), "b");
        metadata.put(key("x-other"), "no");
        metadata.put(key("authorization"), "no");
        metadata.put(BINARY, ONE);
        metadata.put(BINARY, TWO);
        return metadata;
    }

    /** The same for a REST peer. */
    private static final String[] SENT = {
        "X-Request-Id: 7",
        "X-Flow-Many: a",
        "x-flow-many: b",
        "X-Other: no",
        "Authorization: no",
        "X-Flow-Bin: Af8A",
        "X-Flow-Bin: Ag=="
    };

    private static void expectListed(Metadata metadata) {
        assertThat(all(metadata, "x-request-id")).containsExactly("7");
        assertThat(all(metadata, "x-flow-many")).containsExactly("a", "b");
        assertThat(metadata.keys()).doesNotContain("x-other", "authorization");
        expectBinary(metadata);
    }

    private static void expectListed(String head) {
        String lower = head.toLowerCase(Locale.ROOT);
        assertThat(lower)
                .contains("x-request-id: 7\r\n")
                .containsPattern("x-flow-many: a, ?b\r\n")
                .containsPattern("x-flow-bin: af8a, ?ag==\r\n")
                .doesNotContain("x-other", "authorization");
    }

    private static void expectListed(Http1Client.Response response) {
        assertThat(response.status()).isEqualTo(200);
        assertThat(response.header("x-request-id")).isEqualTo("7");
        assertThat(response.header("x-flow-many")).matches("a, ?b");
        assertThat(response.header("x-flow-bin")).matches("Af8A, ?Ag=*");
        assertThat(response.head().headers()).doesNotContainKeys("x-other", "authorization");
    }

    private static FakeGrpcServer grpcServer() throws Exception {
        FakeGrpcServer server = new FakeGrpcServer(new FakeGrpcServer.Script() {
            @Override
            public void message(ServerCall<byte[], byte[]> call, byte[] message) {
                call.sendMessage(Infer.responseTo(Infer.request(message), 1).toByteArray());
            }

            @Override
            public void ended(ServerCall<byte[], byte[]> call) {
                Metadata trailers = new Metadata();
                trailers.put(key("x-flow-trailer"), "late");
                call.close(Status.OK, trailers);
            }
        });
        server.responseHeaders = sent();
        return server;
    }

    private static FakeRestServer restServer() throws Exception {
        String headers = String.join("\r\n", SENT) + "\r\n";
        return FakeRestServer.that((request, out) -> {
            write(out, ok(Infer.responseJson("m", "a", 1)).replace("Content-Length", headers + "Content-Length"));
            return true;
        });
    }

    @Test
    void restToGrpc() throws Exception {
        try (FakeGrpcServer server = grpcServer();
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.GENERIC));
                Http1Client client = stage.http1()) {
            Http1Client.Response response =
                    client.post(INFER, Infer.json("a", 1), SENT).response();
            expectListed(response);
            assertThat(response.header("x-flow-trailer")).isEqualTo("late");
            expectListed(FakeGrpcServer.next(server.opened).headers());
        }
    }

    @Test
    void grpcToGrpc() throws Exception {
        try (FakeGrpcServer server = grpcServer();
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.GENERIC))) {
            for (String method : new String[] {"ModelInfer", "ModelStreamInfer"}) {
                GrpcClient client = GrpcClient.ask(
                        stage.channel(),
                        method,
                        sent(),
                        Infer.request("m", "a", 1).toByteArray());
                client.response();
                expectListed(client.headers());
                assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
                Metadata trailer = method.equals("ModelInfer") ? client.headers() : client.trailers();
                assertThat(all(trailer, "x-flow-trailer")).containsExactly("late");
                expectListed(FakeGrpcServer.next(server.opened).headers());
            }
        }
    }

    @Test
    void restToRest() throws Exception {
        try (FakeRestServer server = restServer();
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.GENERIC));
                Http1Client client = stage.http1()) {
            expectListed(client.post(INFER, Infer.json("a", 1), SENT).response());
            expectListed(Stage.posted(server).head());
        }
    }

    @Test
    void grpcToRest() throws Exception {
        try (FakeRestServer server = restServer();
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.GENERIC))) {
            for (String method : new String[] {"ModelInfer", "ModelStreamInfer"}) {
                GrpcClient client = GrpcClient.ask(
                        stage.channel(),
                        method,
                        sent(),
                        Infer.request("m", "a", 1).toByteArray());
                client.response();
                expectListed(client.headers());
                expectListed(Stage.posted(server).head().replace("Ag\r\n", "Ag==\r\n"));
            }
        }
    }

    @Test
    void failure_hasTheServersHeadersToo() throws Exception {
        try (FakeGrpcServer grpc = new FakeGrpcServer((call, message) -> {
                    Metadata trailers = new Metadata();
                    trailers.put(key("retry-after"), "1");
                    call.close(Status.UNAVAILABLE.withDescription("later"), trailers);
                });
                FakeRestServer rest = FakeRestServer.sending(
                        "HTTP/1.1 503 No\r\nRetry-After: 1\r\nContent-Length: 17\r\n\r\n{\"error\":\"later\"}");
                Stage ofGrpc = Stage.of(Stage.grpc(grpc, ServerDialect.GENERIC));
                Stage ofRest = Stage.of(Stage.rest(rest, ServerDialect.GENERIC))) {
            for (Stage stage : List.of(ofGrpc, ofRest)) {
                try (Http1Client client = stage.http1()) {
                    Http1Client.Response response =
                            client.post(INFER, Infer.json("a", 1)).response();
                    assertThat(response.status()).isEqualTo(503);
                    assertThat(response.header("retry-after")).isEqualTo("1");
                }
                GrpcClient client = GrpcClient.ask(
                        stage.channel(),
                        "ModelInfer",
                        new Metadata(),
                        Infer.request("m", "a", 1).toByteArray());
                assertThat(client.status().getDescription()).isEqualTo("later");
                assertThat(all(client.trailers(), "retry-after")).containsExactly("1");
            }
        }
    }

    @Test
    void events_haveTheServersHeaders() throws Exception {
        try (FakeGrpcServer server = grpcServer();
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.GENERIC));
                Http1Client client = stage.http1()) {
            Http1Client.Head head = client.post("/v2/models/m/infer_stream", Infer.json("a", 1), SENT)
                    .head();
            assertThat(head.headers()).containsEntry("x-request-id", "7");
            assertThat(client.chunks()).startsWith("data: ");
            expectListed(FakeGrpcServer.next(server.opened).headers());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"not base64!", "Af8A, ?"})
    void binaryHeader_thatIsNoBase64_isRefused(String value) throws Exception {
        try (FakeGrpcServer server = grpcServer();
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.GENERIC));
                Http1Client client = stage.http1()) {
            Http1Client.Response response = client.post(INFER, Infer.json("a", 1), "X-Flow-Bin: " + value)
                    .response();
            assertThat(response.status()).isEqualTo(400);
            assertThat(Objects.requireNonNull(response.text())).contains("metadata");
            assertThat(server.opened).isEmpty();
        }
    }

    /** With a header that clients may send, too. */
    private static UpstreamConfig keyed(UpstreamConfig upstream, String key) {
        return TestConfigs.with(upstream, Map.of("headers", Map.of("x-flow-key", new SecretText(key))));
    }

    @Test
    void ownHeaders_areSentOverGrpc_withCallsAndStreams_andChangeWithAReload() throws Exception {
        try (FakeGrpcServer server = grpcServer();
                Stage stage = Stage.of(keyed(Stage.grpc(server, ServerDialect.GENERIC), "one"));
                Http1Client client = stage.http1()) {
            client.post(INFER, Infer.json("a", 1), "X-Flow-Key: client", "X_Flow_Key: client")
                    .response();
            GrpcClient.ask(
                            stage.channel(),
                            "ModelStreamInfer",
                            sent(),
                            Infer.request("m", "a", 1).toByteArray())
                    .response();
            Set<String> checked = new HashSet<>();
            await().untilAsserted(() -> {
                for (var call = server.opened.poll(); call != null; call = server.opened.poll()) {
                    assertThat(all(call.headers(), "x-flow-key")).containsExactly("one");
                    assertThat(call.headers().keys()).doesNotContain("x_flow_key");
                    checked.add(call.method());
                }
                assertThat(checked).contains("ModelInfer", "ModelStreamInfer");
            });

            UpstreamConfig changed = keyed(Stage.grpc(server, ServerDialect.GENERIC), "two");
            stage.proxy()
                    .reload(TestConfigs.with(stage.proxy().config(), Map.of("upstreams", Map.of("server", changed))));
            client.post(INFER, Infer.json("a", 1), SENT).response();
            await().untilAsserted(() -> {
                FakeGrpcServer.ReceivedCall call = FakeGrpcServer.next(server.opened);
                assertThat(call.method()).isEqualTo("ModelInfer");
                assertThat(all(call.headers(), "x-flow-key")).containsExactly("two");
            });
        }
    }

    @Test
    void ownHeaders_areSentOverRest_withCallsAndChecks() throws Exception {
        try (FakeRestServer server = restServer();
                Stage stage = Stage.of(keyed(Stage.rest(server, ServerDialect.GENERIC), "one"));
                Http1Client client = stage.http1()) {
            client.post(INFER, Infer.json("a", 1), "X-Flow-Key: client", "X_Flow_Key: client")
                    .response();
            FakeRestServer.RestRequest request;
            do {
                request = server.request();
                assertThat(request.head().toLowerCase(Locale.ROOT))
                        .containsOnlyOnce("\r\nx-flow-key: one\r\n")
                        .doesNotContain("x_flow_key");
            } while (!request.head().startsWith("POST"));
        }
    }
}
