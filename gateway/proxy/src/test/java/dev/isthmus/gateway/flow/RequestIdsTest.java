package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every call has a request id: the client's or a new one. */
class RequestIdsTest {
    private static final String HEADER = "x-request-id";
    private static final String NEW = "[0-9a-f]{32}";
    private static final Metadata.Key<String> KEY = Metadata.Key.of(HEADER, Metadata.ASCII_STRING_MARSHALLER);

    private static FakeRestServer server() throws Exception {
        return FakeRestServer.sending("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                + Infer.responseJson("m", "a", 1).length() + "\r\n\r\n" + Infer.responseJson("m", "a", 1));
    }

    private static String sent(FakeRestServer server) throws Exception {
        return Stage.posted(server)
                .head()
                .lines()
                .filter(line -> line.toLowerCase(Locale.ROOT).startsWith(HEADER + ":"))
                .map(line -> line.substring(HEADER.length() + 1).strip())
                .findFirst()
                .orElse("");
    }

    @Test
    void missingId_isMade_forServerAndClient() throws Exception {
        try (FakeRestServer server = server();
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.TRITON));
                Http1Client client = stage.http1()) {
            Http1Client.Response response =
                    client.post("/v2/models/m/infer", Infer.json("a", 1)).response();
            assertThat(response.status()).isEqualTo(200);
            assertThat(response.header(HEADER)).matches(NEW).isEqualTo(sent(server));
            String second = client.post("/v2/models/m/infer", Infer.json("a", 1))
                    .response()
                    .header(HEADER);
            assertThat(second).matches(NEW).isNotEqualTo(response.header(HEADER));
        }
    }

    @ParameterizedTest
    @CsvSource({"GET /v2/health/live,200", "GET /nothing,404", "PUT /v2/models/m/infer,405"})
    void everyResponse_hasTheId(String request, int status) throws Exception {
        try (FakeRestServer server = server();
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.TRITON));
                Http1Client client = stage.http1()) {
            client.send(request + " HTTP/1.1\r\nHost: a\r\nX-Request-Id: r:1/2\r\nContent-Length: 0\r\n\r\n");
            Http1Client.Response response = client.response();
            assertThat(response.status()).isEqualTo(status);
            assertThat(response.header(HEADER)).isEqualTo("r:1/2");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"a b", "a\tb", "\"", "<script>"})
    void idWithOtherCharacters_isReplaced(String id) throws Exception {
        try (FakeRestServer server = server();
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.TRITON));
                Http1Client client = stage.http1()) {
            Http1Client.Response response = client.post("/v2/models/m/infer", Infer.json("a", 1), "X-Request-Id: " + id)
                    .response();
            assertThat(response.header(HEADER)).matches(NEW).isEqualTo(sent(server));
        }
    }

    @ParameterizedTest
    @CsvSource({"g-1,g-1", "g 1,[0-9a-f]{32}", ",[0-9a-f]{32}"})
    void grpcServer_getsTheIdOfTheResponse(@Nullable String own, String expected) throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer((call, message) -> {
                    call.sendMessage(Infer.responseTo(Infer.request(message), 1).toByteArray());
                    call.close(Status.OK, new Metadata());
                });
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.GENERIC))) {
            Metadata headers = new Metadata();
            if (own != null) {
                headers.put(KEY, own);
            }
            GrpcClient client = GrpcClient.ask(
                    stage.channel(),
                    "ModelInfer",
                    headers,
                    Infer.request("m", "a", 1).toByteArray());
            assertThat(client.status().isOk()).isTrue();
            assertThat(client.headers().getAll(KEY)).hasSize(1);
            assertThat(FakeGrpcServer.next(server.opened).headers().getAll(KEY))
                    .containsExactly(client.headers().get(KEY))
                    .first()
                    .asString()
                    .matches(expected);
        }
    }

    @Test
    void grpcResponses_haveTheId_inHeadersOrTrailers() throws Exception {
        try (FakeRestServer server = server();
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.TRITON))) {
            GrpcClient served = GrpcClient.ask(
                    stage.channel(),
                    "ModelInfer",
                    new Metadata(),
                    Infer.request("m", "a", 1).toByteArray());
            assertThat(served.status().isOk()).isTrue();
            assertThat(served.headers().get(KEY)).matches(NEW);
            Metadata own = new Metadata();
            own.put(KEY, "g-1");
            GrpcClient refused = GrpcClient.ask(
                    stage.channel(),
                    "ModelInfer",
                    own,
                    Infer.request("a\nb", "a", 1).toByteArray());
            assertThat(refused.status().isOk()).isFalse();
            assertThat(refused.trailers().get(KEY)).isEqualTo("g-1");
        }
    }
}
