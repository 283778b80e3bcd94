package dev.isthmus.gateway.flow;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.settings.ConfigLoader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Clients that start a request and then stall: they hold no permit, and time out. */
class SlowClientsTest {
    private static final Path ROOT = Path.of(System.getProperty("isthmus.root", ".."));
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final String INFER = "/v2/models/digits/infer";
    private static final int CONNECTIONS = 4;
    private static final int STREAMS = 30;

    private @Nullable ProxyServer gateway;

    private void start(String sections) throws Exception {
        String config = """
                listeners: [{host: 127.0.0.1, port: 0}]
                local: {embedded_models: true}
                default_upstream: local
                """ + sections;
        gateway = ProxyServer.start(ConfigLoader.parse("f.yaml", config, ROOT));
    }

    @AfterEach
    void stop() {
        requireNonNull(gateway).close();
    }

    private int port() {
        return requireNonNull(gateway).addresses().getFirst().getPort();
    }

    private Http1Client http1() throws IOException {
        return new Http1Client(new Socket(InetAddress.getLoopbackAddress(), port()));
    }

    private static byte[] sample() throws IOException {
        return Files.readAllBytes(ROOT.resolve("local-backend/src/main/resources/models/digits/sample.json"));
    }

    private double counted(String meter, String tag, String value) {
        return requireNonNull(gateway).meters().find(meter).tag(tag, value).counters().stream()
                .mapToDouble(counter -> counter.count())
                .sum();
    }

    /** One byte of a body on each of many streams. */
    private List<Http2Client> attack() throws Exception {
        List<Http2Client> attackers = new ArrayList<>();
        for (int i = 0; i < CONNECTIONS; i++) {
            Http2Client attacker = new Http2Client(port());
            attackers.add(attacker);
            for (int stream = 0; stream < STREAMS; stream++) {
                attacker.begin(INFER).data(new byte[] {'{'}, 0, 1, false).sync();
            }
            // It has a response, so the server has read what was sent before.
            attacker.get("/v2/health/live").trailers();
        }
        return attackers;
    }

    @Test
    void bodiesThatDoNotCome_takeNoPlaces() throws Exception {
        start("limits: {max_requests: 50}");
        List<Http2Client> attackers = attack();
        try (Http1Client bystander = http1();
                Http2Client other = new Http2Client(port())) {
            assertThat(bystander.post(INFER, sample()).response().status()).isEqualTo(200);
            // In two parts: its body arrives, too, and it is the only one on its connection.
            Http2Client.Response response = other.begin(INFER);
            byte[] body = sample();
            response.data(body, 0, 10, false).sync();
            response.data(body, 10, body.length, true).sync();
            assertThat(response.head().status()).hasToString("200");
            assertThat(attackers.getFirst().begin(INFER).head().status()).hasToString("503");
        }
        attackers.forEach(Http2Client::close);
    }

    @Test
    void streamsHeldOpen_leaveHalfOfThePlaces() throws Exception {
        start("limits: {max_requests: 8}");
        try (Http2Client holder = new Http2Client(port());
                Http2Client other = new Http2Client(port())) {
            for (int i = 0; i < 10; i++) {
                stream(holder);
            }
            Http2Client.Response refused = stream(holder);
            assertThat(refused.trailers().get("grpc-status")).hasToString("14");
            assertThat(other.post(INFER, sample()).head().status()).hasToString("200");
        }
    }

    private static Http2Client.Response stream(Http2Client client) {
        return client.begin(
                "/inference.GRPCInferenceService/ModelStreamInfer",
                "content-type",
                "application/grpc",
                "te",
                "trailers");
    }

    @Test
    void streamWithoutAMessage_takesNoPlace() throws Exception {
        start("limits: {max_requests: 1}");
        try (Http2Client holder = new Http2Client(port());
                Http1Client bystander = http1()) {
            stream(holder);
            holder.get("/v2/health/live").trailers();
            assertThat(bystander.post(INFER, sample()).response().status()).isEqualTo(200);
        }
    }

    @Test
    void bodiesThatDoNotGoOn_get408() throws Exception {
        start("connections: {request_body_timeout: 200ms}");
        List<Http2Client> attackers = attack();
        Http2Client.Response response = attackers.getFirst().begin(INFER);
        response.data(new byte[] {'{'}, 0, 1, false).sync();
        assertThat(response.head().status()).hasToString("408");
        try (Http1Client half = http1()) {
            half.send("POST " + INFER + " HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{");
            assertThat(half.response().status()).isEqualTo(408);
            assertThat(half.closedByServer()).isTrue();
        }
        await().atMost(PATIENCE)
                .until(() ->
                        counted("isthmus.connections.timeouts", "rule", "request_body") == CONNECTIONS * STREAMS + 2);
        attackers.forEach(Http2Client::close);
    }

    @Test
    void bodiesThatWereGivenUp_countNoMore() throws Exception {
        start("limits: {max_requests: 4}\nconnections: {request_body_timeout: 200ms}");
        try (Http2Client slow = new Http2Client(port());
                Http2Client other = new Http2Client(port())) {
            for (int i = 0; i < 4; i++) {
                Http2Client.Response response = slow.begin(INFER);
                response.data(new byte[] {'{'}, 0, 1, false).sync();
                assertThat(response.head().status()).hasToString("408");
            }
            slow.get("/v2/health/live").trailers();
            // If they were still counted, only one request per connection would be accepted.
            other.begin(INFER).data(new byte[] {'{'}, 0, 1, false).sync();
            byte[] body = sample();
            Http2Client.Response response = other.begin(INFER);
            response.data(body, 0, body.length, true).sync();
            assertThat(response.head().status()).hasToString("200");
        }
    }

    @Test
    void headsThatDoNotGoOn_get408() throws Exception {
        start("connections: {request_headers_timeout: 200ms}");
        // Each sends at once, as a connection that has timed out is reset by what is sent.
        try (Http1Client half = http1().get("/v2/health/live");
                Http1Client silent = http1();
                Http1Client preface = http1().send("PRI * HTTP/2.0\r\n")) {
            half.response();
            half.send("GET /v2/health/live HTTP/1.1\r\n");
            assertThat(half.response().status()).isEqualTo(408);
            assertThat(half.closedByServer()).isTrue();
            assertThat(silent.closedByServer()).isTrue();
            preface.rest();
        }
        assertThat(counted("isthmus.connections.timeouts", "rule", "request_headers"))
                .isEqualTo(3);
    }

    @Test
    void idleConnections_areClosed() throws Exception {
        start("connections: {idle_timeout: 200ms}");
        try (Http1Client idle = http1();
                RecordingHttp2Peer peer = RecordingHttp2Peer.client(port())) {
            assertThat(peer).isNotNull();
            assertThat(idle.get("/v2/health/live").response().status()).isEqualTo(200);
            assertThat(idle.closedByServer()).isTrue();
            await().atMost(PATIENCE).until(() -> counted("isthmus.connections.timeouts", "rule", "idle") >= 2);
        }
    }

    @Test
    void connectionsBeyondTheLimit_areClosedAndCounted() throws Exception {
        start("connections: {max_connections: 2}");
        try (Http1Client first = http1()) {
            first.get("/v2/health/live").response();
            try (Http1Client second = http1()) {
                second.get("/v2/health/live").response();
                try (Http1Client third = http1()) {
                    assertThat(third.closedByServer()).isTrue();
                }
                assertThat(counted("isthmus.connections.refused", "limit", "total"))
                        .isEqualTo(1);
            }
            await().atMost(PATIENCE)
                    .until(() -> requireNonNull(gateway)
                                    .meters()
                                    .get("isthmus.connections.open")
                                    .gauge()
                                    .value()
                            == 1);
            try (Http1Client again = http1()) {
                assertThat(again.get("/v2/health/live").response().status()).isEqualTo(200);
            }
        }
    }

    @Test
    void connectionsOfOneAddressBeyondTheLimit_areClosed() throws Exception {
        start("connections: {max_connections_per_address: 1}");
        try (Http1Client first = http1()) {
            first.get("/v2/health/live").response();
            try (Http1Client second = http1()) {
                assertThat(second.closedByServer()).isTrue();
            }
        }
        assertThat(counted("isthmus.connections.refused", "limit", "address")).isEqualTo(1);
    }
}
