package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.upstream.FakeRestServer.ok;
import static dev.isthmus.gateway.upstream.FakeRestServer.write;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.http2.RawFrame;
import dev.isthmus.gateway.http2.RawFrames;
import dev.isthmus.gateway.http2.RawHttp2Connection;
import dev.isthmus.gateway.settings.Drain;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.proto.ServerReadyResponse;
import io.grpc.CallOptions;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.micrometer.core.instrument.Gauge;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2FrameTypes;
import java.io.IOException;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The end of a gateway with calls under way: what clients notice of it. */
class DrainTest {
    private static final String PATH = "/v2/models/m/infer";
    private static final Duration LONG = Duration.ofMinutes(2);
    private static final Drain AT_ONCE = new Drain(Duration.ZERO, LONG);
    private static final String SHUTTING_DOWN = "the gateway is shutting down";

    /** A drain on its own thread. */
    private record Draining(Thread thread) implements AutoCloseable {
        static Draining of(Stage stage, Drain times) throws Exception {
            stage.proxy().reload(TestConfigs.with(stage.proxy().config(), Map.of("drain", times)));
            return new Draining(Thread.ofPlatform().start(() -> {
                try {
                    stage.proxy().drain(true);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }));
        }

        void awaitEnd() throws InterruptedException {
            assertThat(thread.join(Duration.ofSeconds(60))).isTrue();
        }

        @Override
        public void close() {
            thread.interrupt();
        }
    }

    /** A server that responds to inferences when the test lets it. */
    private static final class HeldServer implements AutoCloseable {
        private final CountDownLatch released = new CountDownLatch(1);
        private final FakeRestServer server = FakeRestServer.that(this::respond);

        HeldServer() throws IOException {}

        private boolean respond(FakeRestServer.RestRequest request, OutputStream out) throws IOException {
            try {
                if (request.head().startsWith("POST " + PATH)) {
                    released.await(60, TimeUnit.SECONDS);
                }
            } catch (InterruptedException e) {
                return false;
            }
            write(out, ok(Infer.responseJson("m", "a", 1)));
            return true;
        }

        @Override
        public void close() throws IOException {
            released.countDown();
            server.close();
        }
    }

    private static Stage stage(FakeRestServer server) throws Exception {
        return FleetStage.of(Stage.rest(server, ServerDialect.MLSERVER));
    }

    /** Waits until connections are refused, and those that are open know of it. */
    private static void awaitClosedListener(Stage stage, int port) {
        await().atMost(Duration.ofSeconds(30))
                .untilAsserted(() -> assertThatThrownBy(
                                () -> new Http1Client(new Socket(InetAddress.getLoopbackAddress(), port)).close())
                        .as("%s", stage)
                        .isInstanceOf(ConnectException.class));
        stage.proxy().awaitDraining();
    }

    private static double active(Stage stage) {
        return stage.proxy().meters().find("isthmus.requests.under.way").gauges().stream()
                .mapToDouble(Gauge::value)
                .sum();
    }

    private static int get(Stage stage, String path) throws IOException {
        try (Http1Client client = stage.http1()) {
            return client.get(path).response().status();
        }
    }

    @Test
    void duringTheDelay_itIsNotReady_andServesAsBefore() throws Exception {
        try (Stage stage = FleetStage.local();
                Draining draining = Draining.of(stage, new Drain(LONG, LONG))) {
            await().atMost(Duration.ofSeconds(30)).until(() -> get(stage, "/readyz") == 503);
            assertThat(get(stage, "/v2/health/ready")).isEqualTo(400);
            assertThat(get(stage, "/livez")).isEqualTo(200);
            GrpcClient ready = GrpcClient.ask(stage.channel(), "ServerReady", new Metadata(), new byte[0]);
            assertThat(ServerReadyResponse.parseFrom(ready.response()).getReady())
                    .isFalse();
            try (Http1Client client = stage.http1()) {
                for (int i = 0; i < 2; i++) {
                    Http1Client.Response served =
                            client.get("/v2/models/digits").response();
                    assertThat(served.status()).isEqualTo(200);
                    assertThat(served.header("connection")).isEmpty();
                }
            }
            stage.proxy().close();
            draining.awaitEnd();
        }
    }

    @Test
    void callsUnderWay_end_andTheGatewayAfterThem() throws Exception {
        try (HeldServer held = new HeldServer();
                Stage stage = stage(held.server);
                Http1Client http1 = stage.http1();
                Http2Client http2 = new Http2Client(stage.port())) {
            int port = stage.port();
            http1.post(PATH, Infer.json("a", 1));
            Http2Client.Response other = http2.post(PATH, Infer.json("a", 1));
            Stage.posted(held.server);
            Stage.posted(held.server);
            try (Draining draining = Draining.of(stage, AT_ONCE)) {
                awaitClosedListener(stage, port);
                held.released.countDown();
                Http1Client.Response response = http1.response();
                assertThat(response.status()).isEqualTo(200);
                assertThat(response.header("connection")).isEqualTo("close");
                assertThat(http1.closedByServer()).isTrue();
                assertThat(other.head().status()).hasToString("200");
                draining.awaitEnd();
            }
        }
    }

    @Test
    void idleConnections_areClosed_orServedOnceMore() throws Exception {
        try (Stage stage = FleetStage.local();
                Http1Client idle = stage.http1();
                Http1Client unused = stage.http1();
                Http1Client busy = stage.http1()) {
            int port = stage.port();
            assertThat(idle.get("/livez").response().status()).isEqualTo(200);
            assertThat(busy.get("/livez").response().status()).isEqualTo(200);
            busy.send("GET /livez HTTP/1.1\r\nHo");
            try (Draining draining = Draining.of(stage, AT_ONCE)) {
                awaitClosedListener(stage, port);
                assertThat(idle.closedByServer()).isTrue();
                assertThat(unused.closedByServer()).isTrue();
                Http1Client.Response last = busy.send("st: a\r\n\r\n").response();
                assertThat(last.status()).isEqualTo(200);
                assertThat(last.header("connection")).isEqualTo("close");
                assertThat(busy.closedByServer()).isTrue();
                draining.awaitEnd();
            }
        }
    }

    @Test
    void http2_isWarnedFirst_andServedUntilItKnows() throws Exception {
        try (Stage stage = FleetStage.local();
                RawHttp2Connection client = RawHttp2Connection.connect(stage.port())) {
            client.acknowledgesPings = false;
            try (Draining draining = Draining.of(stage, AT_ONCE)) {
                assertThat(goAway(client)).isEqualTo(Integer.MAX_VALUE);
                byte[] ping = ping(client);
                ByteBuf call = Unpooled.wrappedBuffer(
                        RawFrames.call(1, "ServerLive"),
                        RawFrames.frame(Http2FrameTypes.DATA, 1, 1, Unpooled.wrappedBuffer(new byte[5])));
                client.write(call);
                RawFrame frame = client.next();
                while (!frame.endsStream()) {
                    frame = client.next();
                }
                client.send(Http2FrameTypes.PING, 1, 0, ping);
                assertThat(goAway(client)).isEqualTo(1);
                client.awaitEnd();
                draining.awaitEnd();
            }
        }
    }

    private static int goAway(RawHttp2Connection client) throws IOException {
        return frame(client, Http2FrameTypes.GO_AWAY).payload().getInt(0);
    }

    private static byte[] ping(RawHttp2Connection client) throws IOException {
        byte[] payload = new byte[Long.BYTES];
        frame(client, Http2FrameTypes.PING).payload().getBytes(0, payload);
        return payload;
    }

    private static RawFrame frame(RawHttp2Connection client, int type) throws IOException {
        RawFrame frame = client.next();
        while (frame.type() != type) {
            frame = client.next();
        }
        return frame;
    }

    @ParameterizedTest
    @ValueSource(strings = {"ModelInfer", "ModelStreamInfer"})
    void atTheTimeout_grpcCallsEndWithAStatus(String method) throws Exception {
        FakeGrpcServer.Script silent = new FakeGrpcServer.Script() {
            @Override
            public void message(ServerCall<byte[], byte[]> call, byte[] message) {
                // It never responds.
            }

            @Override
            public void ended(ServerCall<byte[], byte[]> call) {
                // Nor does it end the call.
            }
        };
        try (FakeGrpcServer server = new FakeGrpcServer(silent);
                Stage stage = FleetStage.of(Stage.grpc(server, ServerDialect.MLSERVER))) {
            GrpcClient client = GrpcClient.open(stage.channel(), method, new Metadata(), CallOptions.DEFAULT, 10);
            client.send(Infer.request("m", "a", 1).toByteArray());
            if (method.equals("ModelInfer")) {
                client.end();
            }
            FakeGrpcServer.next(server.messages);
            try (Draining draining = Draining.of(stage, new Drain(Duration.ZERO, Duration.ZERO))) {
                assertThat(client.status().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
                assertThat(client.status().getDescription()).isEqualTo(SHUTTING_DOWN);
                draining.awaitEnd();
            }
        }
    }

    @Test
    void atTheTimeout_aStreamWithoutARequest_endsWithAStatus() throws Exception {
        try (Stage stage = FleetStage.local()) {
            GrpcClient client = GrpcClient.open(stage.channel(), "ModelStreamInfer");
            await().atMost(Duration.ofSeconds(30)).until(() -> active(stage) == 1);
            try (Draining draining = Draining.of(stage, new Drain(Duration.ZERO, Duration.ofMillis(10)))) {
                assertThat(client.status().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
                assertThat(client.status().getDescription()).isEqualTo(SHUTTING_DOWN);
                draining.awaitEnd();
            }
        }
    }

    @Test
    void atTheTimeout_httpRequestsGet503() throws Exception {
        try (HeldServer held = new HeldServer();
                Stage stage = stage(held.server);
                Http1Client stuck = stage.http1();
                Http1Client sending = stage.http1();
                Http2Client http2 = new Http2Client(stage.port())) {
            stuck.post(PATH, Infer.json("a", 1));
            Stage.posted(held.server);
            sending.send("POST " + PATH + " HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{\"inputs\":[");
            Http2Client.Response half = http2.begin(PATH);
            await().atMost(Duration.ofSeconds(30)).until(() -> active(stage) == 3);
            try (Draining draining = Draining.of(stage, new Drain(Duration.ZERO, Duration.ofMillis(10)))) {
                for (Http1Client client : new Http1Client[] {stuck, sending}) {
                    Http1Client.Response response = client.response();
                    assertThat(response.status()).isEqualTo(503);
                    assertThat(response.text()).contains(SHUTTING_DOWN);
                    assertThat(response.header("connection")).isEqualTo("close");
                }
                assertThat(half.head().status()).hasToString("503");
                assertThat(half.body()).contains(SHUTTING_DOWN);
                draining.awaitEnd();
            }
        }
    }

    @Test
    void atTheTimeout_eventsEndWithAnErrorEvent() throws Exception {
        String event = "data: " + Infer.responseJson("m", "a", 1) + "\n\n";
        FakeRestServer.Script oneEvent = (request, out) -> {
            write(
                    out,
                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
                            + Integer.toHexString(event.length()) + "\r\n" + event + "\r\n");
            return true;
        };
        try (FakeRestServer server = FakeRestServer.that(oneEvent);
                Stage stage = stage(server);
                Http1Client client = stage.http1()) {
            client.post("/v2/models/m/infer_stream", Infer.json("a", 1));
            assertThat(client.head().status()).isEqualTo(200);
            assertThat(client.chunk()).isEqualTo(event);
            try (Draining draining = Draining.of(stage, new Drain(Duration.ZERO, Duration.ofMillis(10)))) {
                assertThat(client.chunk()).isEqualTo("data: {\"error\":\"" + SHUTTING_DOWN + "\"}\n\n");
                assertThat(client.chunk()).isEmpty();
                assertThat(client.closedByServer()).isTrue();
                draining.awaitEnd();
            }
        }
    }

    @Test
    void drain_again_orAfterClose_doesNothing() throws Exception {
        try (Stage stage = FleetStage.local()) {
            stage.proxy().close();
            stage.proxy().drain(true);
            stage.proxy().drain(true);
        }
    }
}
