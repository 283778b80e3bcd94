package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.flow.BinaryRequest.Body;
import dev.isthmus.gateway.flow.BinaryRequest.Over;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.proto.ModelInferRequest;
import io.netty.util.internal.PlatformDependent;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Binary data of REST requests is forwarded to a gRPC server as it arrives: what each end sees. */
class BinaryInPartsTest {
    /** A client's initial stream window at the gateway. */
    private static final int CLIENT_WINDOW = 1 << 20;
    /** The largest socket read. */
    private static final int READ = 128 << 10;

    private static final int HUGE = 16 << 20;
    /** A client can send half of it while the server does not read. */
    private static final int LARGE = 400_000;

    private RecordingHttp2Peer.Server server;
    private ProxyServer gateway;
    private @TempDir Path directory;

    @BeforeEach
    void start() throws Exception {
        server = new RecordingHttp2Peer.Server();
        double share = 100.0 * (4 << 20) / PlatformDependent.maxDirectMemory();
        gateway = ProxyServer.start(ConfigLoader.load(Files.writeString(
                directory.resolve("isthmus.yaml"),
                String.format(Locale.ROOT, """
                        listeners: [{host: 127.0.0.1, port: 0}]
                        limits: {max_body_size: 17MiB, max_buffered: %.6f%%}
                        upstreams:
                          server: {protocol: grpc, endpoints: ["127.0.0.1:%d"], retry: {retries: 0}}
                          keeping: {protocol: grpc, endpoints: ["127.0.0.1:%2$d"], retry: {max_body: 1MiB}}
                        models:
                          kept: {upstream: keeping}
                          renamed: {upstream: server, model: quite_another_name, version: "12"}
                        default_upstream: server
                        """, share, server.endpoint().port()))));
    }

    @AfterEach
    void stop() throws Exception {
        gateway.close();
        server.close();
    }

    private BinaryRequest begin(Over over, String model, Body body, String... fields) throws Exception {
        return over.begin(gateway.addresses().get(0).getPort(), model, body, fields);
    }

    private double held() {
        return gateway.meters().get("isthmus.memory.used").gauge().value();
    }

    /** A request half of which was sent. */
    private BinaryRequest half(Over over, Body body) throws Exception {
        BinaryRequest request = begin(over, "m", body);
        request.send(0, body.bytes().length / 2);
        return request;
    }

    private static void rest(BinaryRequest request, Body body) throws Exception {
        request.send(body.bytes().length / 2, body.bytes().length);
    }

    private RecordingHttp2Peer.Stream begun() throws Exception {
        RecordingHttp2Peer.Stream call = server.call();
        awaitReceived(call, RecordingHttp2Peer.WINDOW);
        assertThat(call.ended()).isFalse();
        return call;
    }

    private static void awaitReceived(RecordingHttp2Peer.Stream stream, int bytes) {
        await().atMost(Duration.ofSeconds(60)).until(() -> stream.received() >= bytes);
    }

    private static ModelInferRequest complete(RecordingHttp2Peer.Stream call) throws Exception {
        await().atMost(Duration.ofSeconds(60)).until(call::ended);
        ByteBuffer content = ByteBuffer.wrap(call.content());
        assertThat(content.get()).isZero();
        assertThat(content.getInt()).isEqualTo(content.remaining());
        return ModelInferRequest.parseFrom(content);
    }

    private static void assertArrives(RecordingHttp2Peer.Stream call, Body body, int bytes) throws Exception {
        assertThat(complete(call).getRawInputContents(0).equals(tensor(body, 0, bytes)))
                .isTrue();
    }

    private static ByteString tensor(Body body, int from, int to) {
        return ByteString.copyFrom(body.bytes(), body.jsonLength() + from, to - from);
    }

    @ParameterizedTest
    @CsvSource({"HTTP1, m, m, ''", "HTTP1, renamed, quite_another_name, 12", "HTTP2, renamed, quite_another_name, 12"})
    void tensors_arriveByteForByte(Over over, String model, String name, String version) throws Exception {
        Body body = Body.of(HUGE + 12, Body.input("x", "FP32", 3, 12), Body.input("y", "UINT8", HUGE, HUGE));
        try (BinaryRequest request = begin(over, model, body)) {
            AtomicInteger sent = request.sendAll();
            RecordingHttp2Peer.Stream call = server.call();
            call.open(1 << 30);
            ModelInferRequest message = complete(call);
            assertThat(message.getModelName()).isEqualTo(name);
            assertThat(message.getModelVersion()).isEqualTo(version);
            assertThat(message.getId()).isEqualTo("7");
            assertThat(message.getInputs(1).getShapeList()).containsExactly((long) HUGE);
            assertThat(message.getRawInputContentsList()).hasSize(2);
            assertThat(message.getRawInputContents(0).equals(tensor(body, 0, 12)))
                    .isTrue();
            assertThat(message.getRawInputContents(1).equals(tensor(body, 12, HUGE + 12)))
                    .isTrue();
            call.respond("7");
            assertThat(request.status()).isEqualTo(200);
            assertThat(sent).hasValue(body.bytes().length);
        }
    }

    @ParameterizedTest
    @EnumSource
    void firstBytes_areAtTheServer_beforeTheClientHasSentTheLast(Over over) throws Exception {
        Body body = Body.of(LARGE);
        try (BinaryRequest request = half(over, body)) {
            RecordingHttp2Peer.Stream call = begun();
            call.open(LARGE);
            awaitReceived(call, body.bytes().length / 2 - body.jsonLength());
            rest(request, body);
            assertArrives(call, body, LARGE);
            call.respond("7");
            assertThat(request.status()).isEqualTo(200);
        }
    }

    @ParameterizedTest
    @EnumSource
    void serverThatDoesNotRead_stopsTheClient_andLittleIsHeld(Over over) throws Exception {
        Body body = Body.of(HUGE);
        try (BinaryRequest request = begin(over, "m", body)) {
            AtomicInteger sent = request.sendAll();
            RecordingHttp2Peer.Stream call = begun();
            AtomicInteger before = new AtomicInteger(-1);
            await().pollInterval(Duration.ofMillis(300))
                    .atMost(Duration.ofSeconds(60))
                    .until(() -> before.getAndSet(sent.get()) == sent.get());
            assertThat(call.received()).isEqualTo(RecordingHttp2Peer.WINDOW);
            assertThat(held()).isLessThanOrEqualTo(2 * CLIENT_WINDOW + READ);
            if (over == Over.HTTP2) {
                assertThat(sent.get()).isLessThanOrEqualTo(RecordingHttp2Peer.WINDOW + 2 * CLIENT_WINDOW);
            } else {
                // The rest is in the buffers of the two sockets.
                assertThat(sent.get()).isLessThan(HUGE);
            }
            call.open(1 << 30);
            assertArrives(call, body, HUGE);
            call.respond("7");
            assertThat(request.status()).isEqualTo(200);
            await().until(() -> held() == 0);
        }
    }

    @ParameterizedTest
    @EnumSource
    void clientThatGoesHalfWay_resetsTheServersStream(Over over) throws Exception {
        BinaryRequest request = half(over, Body.of(LARGE));
        RecordingHttp2Peer.Stream call = begun();
        request.close();
        call.awaitReset();
        await().until(() -> held() == 0);
    }

    @ParameterizedTest
    @EnumSource
    void serverThatFailsHalfWay_failsTheCall(Over over) throws Exception {
        try (BinaryRequest request = half(over, Body.of(LARGE))) {
            RecordingHttp2Peer.Stream call = begun();
            call.headers(true, ":status", "200", "content-type", "application/grpc", "grpc-status", "8");
            assertThat(request.status()).isEqualTo(429);
            call.awaitReset();
        }
    }

    @ParameterizedTest
    @EnumSource
    void serverThatResetsHalfWay_failsTheCall(Over over) throws Exception {
        try (BinaryRequest request = half(over, Body.of(LARGE))) {
            begun().reset();
            assertThat(request.status()).isEqualTo(503);
        }
    }

    @ParameterizedTest
    @EnumSource
    void serverThatRespondsHalfWay_isHeard(Over over) throws Exception {
        try (BinaryRequest request = half(over, Body.of(LARGE))) {
            RecordingHttp2Peer.Stream call = begun();
            call.respond("7");
            assertThat(request.status()).isEqualTo(200);
            call.awaitReset();
        }
    }

    private static BinaryRequest.Http1 http1(BinaryRequest request) {
        return (BinaryRequest.Http1) request;
    }

    @Test
    void requestBehindOne_thatHadItsResponseHalfWay_isServed() throws Exception {
        Body body = Body.of(LARGE);
        try (BinaryRequest request = half(Over.HTTP1, body)) {
            begun().reset();
            Http1Client connection = http1(request).connection();
            assertThat(connection.response().status()).isEqualTo(503);
            rest(request, body);
            assertThat(connection.get("/v2/health/live").response().status()).isEqualTo(200);
        }
    }

    @Test
    void requestsPipelinedBehind_areServedInTurn() throws Exception {
        Body body = Body.of(LARGE);
        Body next = Body.of(2 * LARGE);
        try (BinaryRequest first = half(Over.HTTP1, body)) {
            RecordingHttp2Peer.Stream call = begun();
            call.open(LARGE);
            Http1Client connection = http1(first).connection();
            rest(first, body);
            connection.get("/v2/health/live");
            BinaryRequest.Http1 second = new BinaryRequest.Http1(connection, next);
            second.head("m");
            AtomicInteger sent = second.sendAll();
            assertArrives(call, body, LARGE);
            call.respond("7");
            assertThat(connection.response().status()).isEqualTo(200);
            assertThat(connection.response().status()).isEqualTo(200);
            RecordingHttp2Peer.Stream after = server.call();
            after.open(2 * LARGE);
            assertArrives(after, next, 2 * LARGE);
            after.respond("7");
            assertThat(connection.response().status()).isEqualTo(200);
            assertThat(sent).hasValue(next.bytes().length);
        }
    }

    @Test
    void bodyThatIsAskedFor_passes() throws Exception {
        Body body = Body.of(LARGE);
        try (BinaryRequest request = begin(Over.HTTP1, "m", body, "expect", "100-continue")) {
            assertThat(request.status()).isEqualTo(100);
            request.send(0, LARGE / 2);
            RecordingHttp2Peer.Stream call = begun();
            call.open(LARGE);
            request.send(LARGE / 2, body.bytes().length);
            assertArrives(call, body, LARGE);
            call.respond("7");
            assertThat(request.status()).isEqualTo(200);
        }
    }

    /** Why a request is buffered, and the response to it. */
    enum Gathered {
        KEPT_FOR_A_RETRY("kept", 200),
        STRINGS("m", 400),
        MIXED("m", 200),
        TOO_LITTLE("m", 400);

        final String model;
        final int status;

        Gathered(String model, int status) {
            this.model = model;
            this.status = status;
        }

        Body body() {
            String large = Body.input("x", "UINT8", LARGE, LARGE);
            return switch (this) {
                case KEPT_FOR_A_RETRY -> Body.of(LARGE);
                case STRINGS -> Body.of(LARGE + 1, large, Body.input("s", "BYTES", 1, 1));
                case MIXED ->
                    Body.of(LARGE, large, "{\"name\":\"y\",\"datatype\":\"INT8\",\"shape\":[1],\"data\":[5]}");
                case TOO_LITTLE -> Body.of(LARGE, Body.input("x", "UINT8", LARGE + 1, LARGE + 1));
            };
        }
    }

    @ParameterizedTest
    @EnumSource
    void otherRequests_areGathered(Gathered why) throws Exception {
        Body body = why.body();
        try (BinaryRequest request = begin(Over.HTTP1, why.model, body)) {
            int length = body.bytes().length;
            request.send(0, length - 1);
            await().atMost(Duration.ofSeconds(30)).until(() -> held() >= length - 1 - body.jsonLength());
            assertThat(server.calls).isEmpty();
            request.send(length - 1, length);
            if (why.status == 200) {
                RecordingHttp2Peer.Stream call = server.call();
                call.open(LARGE);
                assertArrives(call, body, LARGE);
                call.respond("7");
            }
            assertThat(request.status()).isEqualTo(why.status);
        }
    }

    @Test
    void bodyOfUnknownLength_isGathered() throws Exception {
        Body body = Body.of(LARGE);
        int port = gateway.addresses().get(0).getPort();
        try (Http1Client client = new Http1Client(new Socket(InetAddress.getLoopbackAddress(), port))) {
            byte[] end = "\r\n0\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
            client.send("POST /v2/models/m/infer HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n"
                            + "inference-header-content-length: " + body.jsonLength() + "\r\n\r\n"
                            + Integer.toHexString(body.bytes().length) + "\r\n")
                    .send(body.bytes());
            await().atMost(Duration.ofSeconds(30)).until(() -> held() >= LARGE);
            assertThat(server.calls).isEmpty();
            client.send(end);
            RecordingHttp2Peer.Stream call = server.call();
            call.open(LARGE);
            assertArrives(call, body, LARGE);
            call.respond("7");
            assertThat(client.response().status()).isEqualTo(200);
        }
    }

    @ParameterizedTest
    @EnumSource
    void bodyLargerThanARequestMayBe_isRefusedBeforeItComes(Over over) throws Exception {
        try (BinaryRequest request = begin(over, "m", Body.of((17 << 20) + 1))) {
            assertThat(request.status()).isEqualTo(413);
            assertThat(server.calls).isEmpty();
        }
    }

    @Test
    void bodyThatBreaksTheProtocolInItsJson_neverReachesAServer() throws Exception {
        Body body = Body.of(2 * LARGE, Body.input("x", "UINT8", LARGE, LARGE), Body.input("x", "UINT8", LARGE, LARGE));
        try (BinaryRequest request = half(Over.HTTP1, body)) {
            assertThat(request.status()).isEqualTo(400);
            assertThat(server.calls).isEmpty();
        }
    }
}
