package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.upstream.FakeGrpcServer.next;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.ModelInferRequest;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Server-sent events transcoded from a gRPC server's stream. */
class EventsFromGrpcTest {
    private static final String PATH = "/v2/models/m/infer_stream";

    /** Responds as often as the request's number says; its id selects how the call ends. */
    private static final class Ending implements FakeGrpcServer.Script {
        @Override
        public void message(ServerCall<byte[], byte[]> call, byte[] message) {
            ModelInferRequest request = Infer.request(message);
            for (int i = 0; i < Infer.value(request); i++) {
                call.sendMessage(Infer.enveloped(Infer.responseTo(request, i)));
            }
            switch (request.getId()) {
                case "error" -> call.sendMessage(Infer.error("Request for unknown model: it went", "error"));
                case "status" -> call.close(Status.NOT_FOUND.withDescription("no such thing"), new Metadata());
                default -> {}
            }
        }

        @Override
        public void ended(ServerCall<byte[], byte[]> call) {
            // The call continues until the test ends it.
        }
    }

    /** The same, but ends when the client does. */
    private record Whole(Ending ending) implements FakeGrpcServer.Script {
        @Override
        public void message(ServerCall<byte[], byte[]> call, byte[] message) {
            ending.message(call, message);
            if (!Infer.request(message).getId().equals("status")) {
                call.close(Status.OK, new Metadata());
            }
        }

        @Override
        public void ended(ServerCall<byte[], byte[]> call) {
            // It has ended already.
        }
    }

    private FakeGrpcServer server;
    private Stage stage;

    @BeforeEach
    void start() throws Exception {
        server = new FakeGrpcServer(new Whole(new Ending()));
        stage = Stage.of(Stage.grpc(server, ServerDialect.TRITON));
    }

    @AfterEach
    void stop() throws Exception {
        stage.close();
        server.close();
    }

    private static String events(String id, int count) {
        StringBuilder events = new StringBuilder();
        for (int i = 0; i < count; i++) {
            events.append("data: ").append(Infer.responseJson("m", id, i)).append("\n\n");
        }
        return events.toString();
    }

    @Test
    void http11_eventsAreChunks_inOrder_andTheConnectionStaysUsable() throws Exception {
        try (Http1Client client = stage.http1()) {
            for (int round = 0; round < 3; round++) {
                Http1Client.Head head = client.post(PATH, Infer.json("a", 3)).head();
                assertThat(head.status()).isEqualTo(200);
                assertThat(head.headers())
                        .containsEntry("content-type", "text/event-stream")
                        .containsEntry("cache-control", "no-cache")
                        .containsEntry("transfer-encoding", "chunked")
                        .doesNotContainKey("content-length");
                assertThat(client.chunks()).isEqualTo(events("a", 3));
            }
            assertThat(client.get("/v2/health/live").response().status()).isEqualTo(200);
        }
    }

    @Test
    void http11_acceptHeader_asksForEventsToo() throws Exception {
        try (Http1Client client = stage.http1()) {
            client.post("/v2/models/m/infer", Infer.json("a", 2), "Accept: application/json;q=0.1, text/event-stream");
            assertThat(client.head().headers()).containsEntry("content-type", "text/event-stream");
            assertThat(client.chunks()).isEqualTo(events("a", 2));
        }
    }

    @Test
    void http10_eventsEndWithTheConnection() throws Exception {
        try (Http1Client client = stage.http1()) {
            String body = Infer.json("a", 3);
            client.send("POST " + PATH + " HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: " + body.length()
                    + "\r\n\r\n" + body);
            Http1Client.Head head = client.head();
            assertThat(head.status()).isEqualTo(200);
            assertThat(head.headers()).doesNotContainKey("transfer-encoding").containsEntry("connection", "close");
            assertThat(client.rest()).isEqualTo(events("a", 3));
        }
    }

    @Test
    void http2_eventsAreData_inOrder() throws Exception {
        try (Http2Client client = new Http2Client(stage.port())) {
            Http2Client.Response response = client.post(PATH, Infer.json("a", 3));
            assertThat(response.head().status()).hasToString("200");
            assertThat(response.head().get("content-type")).hasToString("text/event-stream");
            assertThat(response.body()).isEqualTo(events("a", 3));
        }
    }

    @Test
    void noResponse_isAStreamWithoutEvents() throws Exception {
        try (Http1Client client = stage.http1()) {
            assertThat(client.post(PATH, Infer.json("a", 0)).head().status()).isEqualTo(200);
            assertThat(client.chunks()).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"error", "status"})
    void error_beforeTheFirstEvent_isTheStatus(String how) throws Exception {
        try (Http1Client client = stage.http1()) {
            Http1Client.Response response =
                    client.post(PATH, Infer.json(how, 0)).response();
            assertThat(response.status()).isEqualTo(404);
            assertThat(response.header("content-type")).isEqualTo("application/json");
            assertThat(response.text()).startsWith("{\"error\":\"");
            assertThat(client.get("/v2/health/live").response().status()).isEqualTo(200);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"error", "status"})
    void error_afterTheFirstEvent_isAnEvent(String how) throws Exception {
        String text = how.equals("error") ? "Request for unknown model: it went" : "no such thing";
        String expected = events(how, 2) + "data: {\"error\":\"" + text + "\"}\n\n";
        try (Http1Client client = stage.http1();
                Http2Client other = new Http2Client(stage.port())) {
            assertThat(client.post(PATH, Infer.json(how, 2)).head().status()).isEqualTo(200);
            assertThat(client.chunks()).isEqualTo(expected);
            assertThat(client.get("/v2/health/live").response().status()).isEqualTo(200);
            assertThat(other.post(PATH, Infer.json(how, 2)).body()).isEqualTo(expected);
        }
    }

    @Test
    void request_malformed_isRefused() throws Exception {
        try (Http1Client client = stage.http1()) {
            assertThat(client.post(PATH, "{\"inputs\":[{}]}").response().status())
                    .isEqualTo(400);
            assertThat(server.opened).isEmpty();
        }
    }

    @Test
    void client_goes_callIsCancelled() throws Exception {
        try (FakeGrpcServer endless = new FakeGrpcServer(new Ending());
                Stage other = Stage.of(Stage.grpc(endless, ServerDialect.TRITON))) {
            try (Http1Client client = other.http1()) {
                client.post(PATH, Infer.json("a", 1)).head();
                assertThat(client.chunk()).isEqualTo(events("a", 1));
            }
            assertThat(next(endless.cancelled)).isEqualTo("ModelStreamInfer");
            try (Http2Client client = new Http2Client(other.port())) {
                Http2Client.Response response = client.post(PATH, Infer.json("a", 1));
                assertThat(response.part()).isEqualTo(events("a", 1));
                response.cancel();
                assertThat(next(endless.cancelled)).isEqualTo("ModelStreamInfer");
            }
            endless.opened.clear();
            try (Http1Client client = other.http1()) {
                client.post(PATH, Infer.json("a", 0));
                next(endless.opened);
            }
            assertThat(next(endless.cancelled)).isEqualTo("ModelStreamInfer");
        }
    }
}
