package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeRestServer;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Large responses of a REST server are forwarded to a REST client as they arrive; if that is not possible, they are
 * buffered.
 */
class PassedRestResponseTest {
    private static final int LIMIT = 80 << 20;
    /** More than all sockets on the path hold. */
    private static final int HUGE = 64 << 20;

    private static final int SOME = 3 << 20;
    private static final String PATH = "/v2/models/m/infer";
    private static final String REQUEST = Infer.json("a", 1);

    private FakeRestServer server;
    private volatile Written upstreamResponse = new Written(Framing.LENGTH, json(4), 0);
    private final AtomicLong sent = new AtomicLong();
    /** Opened to let the server send the second half of a response. */
    private final CountDownLatch half = new CountDownLatch(1);

    private volatile boolean halts;
    /** Whether the server disconnects instead. */
    private volatile boolean broken;

    /** How the end of a body is marked. */
    private enum Framing {
        LENGTH,
        CHUNKED,
        CLOSE
    }

    /**
     * What the server responds with.
     *
     * @param jsonLength 0 if it is all JSON
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Written(Framing framing, byte[] body, int jsonLength) {
        String head() {
            return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Request-Id: 7\r\n"
                    + (jsonLength == 0 ? "" : "Inference-Header-Content-Length: " + jsonLength + "\r\n")
                    + switch (framing) {
                        case LENGTH -> "Content-Length: " + body.length + "\r\n\r\n";
                        case CHUNKED -> "Transfer-Encoding: chunked\r\n\r\n";
                        case CLOSE -> "Connection: close\r\n\r\n";
                    };
        }

        void write(OutputStream out, int from, int to) throws IOException {
            if (framing == Framing.CHUNKED) {
                FakeRestServer.write(out, Integer.toHexString(to - from) + "\r\n");
            }
            out.write(body, from, to - from);
            if (framing == Framing.CHUNKED) {
                FakeRestServer.write(out, "\r\n");
            }
        }

        boolean end(OutputStream out) throws IOException {
            if (framing == Framing.CHUNKED) {
                FakeRestServer.write(out, "0\r\n\r\n");
            }
            return framing != Framing.CLOSE;
        }
    }

    private boolean serve(FakeRestServer.RestRequest seen, OutputStream out) throws IOException {
        Written written = upstreamResponse;
        if (!seen.head().startsWith("POST")) {
            FakeRestServer.write(out, FakeRestServer.ok("{}"));
            return true;
        }
        FakeRestServer.write(out, written.head());
        int middle = written.body().length / 2;
        for (int at = 0; at < written.body().length; ) {
            int to = Math.min(at + (64 << 10), at < middle ? middle : written.body().length);
            written.write(out, at, to);
            sent.addAndGet(to - at);
            at = to;
            if (at == middle && halts) {
                awaitHalf();
            }
        }
        return written.end(out);
    }

    private void awaitHalf() throws IOException {
        try {
            if (!half.await(20, TimeUnit.SECONDS)) {
                throw new IOException("the second half was not requested");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (broken) {
            throw new IOException("the server dies");
        }
    }

    @BeforeEach
    void start() throws Exception {
        server = FakeRestServer.that(this::serve);
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
    }

    private static byte[] json(int bytes) {
        return json("m", bytes);
    }

    private static byte[] json(String model, int bytes) {
        int count = Math.max(1, bytes / 11);
        return ("{\"model_name\":\"" + model + "\",\"outputs\":[{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":["
                        + count + "],\"data\":[0.48627451" + ",0.48627451".repeat(count - 1) + "]}]}")
                .getBytes(StandardCharsets.US_ASCII);
    }

    private static String binaryHead(int bytes) {
        return "{\"model_name\":\"m\",\"outputs\":[{\"name\":\"y\",\"datatype\":\"INT8\",\"shape\":[" + bytes
                + "],\"parameters\":{\"binary_data_size\":" + bytes + "}}]}";
    }

    private static Written binary(Framing framing, int bytes) {
        byte[] head = binaryHead(bytes).getBytes(StandardCharsets.US_ASCII);
        byte[] body = Arrays.copyOf(head, head.length + bytes);
        for (int i = head.length; i < body.length; i++) {
            body[i] = (byte) (i * 31);
        }
        return new Written(framing, body, head.length);
    }

    private UpstreamConfig upstream() {
        return Stage.rest(server, ServerDialect.TRITON);
    }

    private Stage stage() throws Exception {
        return stage(upstream(), ModelConfig.of("server"));
    }

    private static Stage stage(UpstreamConfig upstream, ModelConfig model) throws Exception {
        return Stage.taking(LIMIT, Map.of("server", upstream), Map.of("m", model));
    }

    private static String latin(byte[] bytes) {
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }

    private static double used(Stage stage) {
        MeterRegistry meters = stage.proxy().meters();
        return meters.get("isthmus.memory.used").gauge().value();
    }

    /** Waits until the server has made no progress for a while. */
    private long settled() {
        AtomicLong before = new AtomicLong(-1);
        await().pollInterval(Duration.ofMillis(300))
                .atMost(Duration.ofSeconds(30))
                .until(() -> sent.get() > 0 && before.getAndSet(sent.get()) == sent.get());
        return sent.get();
    }

    /** The body, framed as the response declares. */
    private static String body(Http1Client client, Http1Client.Head head) throws IOException {
        return "chunked".equals(head.headers().get("transfer-encoding"))
                ? client.latinChunks()
                : client.latin(Integer.parseInt(head.headers().get("content-length")));
    }

    @ParameterizedTest
    @EnumSource(Framing.class)
    void jsonResponse_arrivesByteForByte_asItComes(Framing framing) throws Exception {
        upstreamResponse = new Written(framing, json(SOME), 0);
        halts = true;
        try (Stage stage = stage();
                Http1Client client = stage.http1()) {
            client.post(PATH, REQUEST);
            Http1Client.Head head = client.head();
            assertThat(head.status()).isEqualTo(200);
            assertThat(head.headers())
                    .containsEntry("content-type", "application/json")
                    .containsEntry("x-request-id", "7")
                    .containsKey(framing == Framing.LENGTH ? "content-length" : "transfer-encoding");
            half.countDown();
            assertThat(body(client, head)).isEqualTo(latin(upstreamResponse.body()));
            upstreamResponse = new Written(Framing.LENGTH, json(4), 0);
            client.post(PATH, REQUEST);
            assertThat(client.response().text()).isEqualTo(latin(upstreamResponse.body()));
        }
    }

    @ParameterizedTest
    @EnumSource(Framing.class)
    void binaryResponse_arrivesByteForByte_asItComes(Framing framing) throws Exception {
        upstreamResponse = binary(framing, SOME);
        halts = true;
        try (Stage stage = stage();
                Http1Client client = stage.http1()) {
            client.post(PATH, REQUEST);
            Http1Client.Head head = client.head();
            assertThat(head.headers())
                    .containsEntry("content-type", "application/octet-stream")
                    .containsEntry("inference-header-content-length", Integer.toString(upstreamResponse.jsonLength()));
            half.countDown();
            assertThat(body(client, head)).isEqualTo(latin(upstreamResponse.body()));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void responseOverHttp2_arrivesAsItComes(boolean binary) throws Exception {
        upstreamResponse = binary ? binary(Framing.LENGTH, SOME) : new Written(Framing.CHUNKED, json(SOME), 0);
        halts = true;
        try (Stage stage = stage();
                Http2Client client = new Http2Client(stage.port())) {
            Http2Client.Response response = client.post(PATH, REQUEST);
            assertThat(response.head().status()).hasToString("200");
            response.part();
            half.countDown();
            response.trailers();
            assertThat(response.head().get("content-length"))
                    .isEqualTo(binary ? Integer.toString(upstreamResponse.body().length) : null);
            if (!binary) {
                assertThat(response.body()).endsWith("0.48627451]}]}");
            }
        }
    }

    @Test
    void connectionToTheServer_isUsedAgain() throws Exception {
        upstreamResponse = binary(Framing.LENGTH, SOME);
        try (Stage stage = stage();
                Http1Client client = stage.http1()) {
            for (int i = 0; i < 3; i++) {
                client.post(PATH, REQUEST);
                assertThat(client.response().latin()).isEqualTo(latin(upstreamResponse.body()));
            }
        }
        int first = Stage.posted(server).connection();
        assertThat(Stage.posted(server).connection()).isEqualTo(first);
        assertThat(Stage.posted(server).connection()).isEqualTo(first);
    }

    @ParameterizedTest
    @EnumSource(Framing.class)
    void clientThatDoesNotRead_stopsTheServer(Framing framing) throws Exception {
        upstreamResponse = binary(framing, HUGE);
        try (Stage stage = stage();
                Http1Client client = stage.http1()) {
            client.post(PATH, REQUEST);
            assertThat(settled()).isLessThan(HUGE / 2);
            assertThat(used(stage)).isLessThan(300 << 10);
            Http1Client.Head head = client.head();
            assertThat(body(client, head).length()).isEqualTo(upstreamResponse.body().length);
            await().untilAsserted(() -> assertThat(used(stage)).isZero());
        }
    }

    @Test
    void clientThatDoesNotRead_overHttp2_stopsTheServer() throws Exception {
        upstreamResponse = new Written(Framing.LENGTH, json(HUGE), 0);
        try (Stage stage = stage();
                Http2Client client = new Http2Client(stage.port())) {
            Http2Client.Response response = client.post(PATH, REQUEST);
            response.reading(false);
            assertThat(settled()).isLessThan(HUGE / 2);
            assertThat(used(stage)).isLessThan(300 << 10);
            response.cancel();
            server.awaitConnectionClosed();
            await().untilAsserted(() -> assertThat(used(stage)).isZero());
        }
    }

    @Test
    void clientThatGoesHalfWay_closesTheServersConnection() throws Exception {
        upstreamResponse = new Written(Framing.CHUNKED, json(HUGE), 0);
        try (Stage stage = stage()) {
            Http1Client client = stage.http1();
            client.post(PATH, REQUEST);
            client.head();
            settled();
            client.close();
            server.awaitConnectionClosed();
            await().untilAsserted(() -> assertThat(used(stage)).isZero());
        }
    }

    @ParameterizedTest
    @EnumSource(Framing.class)
    void serverThatFailsHalfWay_endsTheClientsResponseShort(Framing framing) throws Exception {
        upstreamResponse = new Written(framing, json(SOME), 0);
        halts = true;
        broken = true;
        try (Stage stage = stage();
                Http1Client client = stage.http1();
                Http2Client http2 = new Http2Client(stage.port())) {
            client.post(PATH, REQUEST);
            Http1Client.Head head = client.head();
            Http2Client.Response response = http2.post(PATH, REQUEST);
            response.part();
            half.countDown();
            assertThatThrownBy(() -> body(client, head)).isInstanceOf(IOException.class);
            assertThat(response.reset()).isEqualTo(2);
            await().untilAsserted(() -> assertThat(used(stage)).isZero());
        }
        assertThat(Stage.posted(server)).isNotNull();
        assertThat(Stage.posted(server)).isNotNull();
    }

    /** The body with corrupted bytes at three quarters of its length. */
    private static byte[] withMiddle(byte[] body, String middle) {
        byte[] changed = body.clone();
        byte[] bytes = middle.getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(bytes, 0, changed, body.length / 4 * 3, bytes.length);
        return changed;
    }

    @ParameterizedTest
    @ValueSource(strings = {"}}}}", "\"x\"y", "[[1]", "1,,1", "e5e5"})
    void brokenJsonBehindTheMiddle_endsTheClientsResponseShort(String middle) throws Exception {
        upstreamResponse = new Written(Framing.LENGTH, withMiddle(json(SOME), middle), 0);
        try (Stage stage = stage();
                Http1Client client = stage.http1();
                Http2Client http2 = new Http2Client(stage.port())) {
            client.post(PATH, REQUEST);
            Http1Client.Head head = client.head();
            assertThat(head.status()).isEqualTo(200);
            assertThatThrownBy(() -> body(client, head)).isInstanceOf(IOException.class);
            assertThat(http2.post(PATH, REQUEST).reset()).isEqualTo(2);
        }
    }

    @Test
    void nanBehindTheData_endsTheClientsResponseShort() throws Exception {
        String json = latin(json(SOME));
        String wrong = json.substring(0, json.length() - 1) + ",\"parameters\":{\"p\":[NaN]}}";
        upstreamResponse = new Written(Framing.CLOSE, wrong.getBytes(StandardCharsets.US_ASCII), 0);
        try (Stage stage = stage();
                Http1Client client = stage.http1()) {
            client.post(PATH, REQUEST);
            Http1Client.Head head = client.head();
            assertThatThrownBy(() -> body(client, head)).isInstanceOf(IOException.class);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\"shape\":[7",
                "\"datatype\":\"INT9\"",
                "\"shape\":[-1",
                "{{",
                "\"parameters\":{\"p\":-Infinity},"
            })
    void binaryResponseWithWrongJson_isRefusedBeforeAnyOfIt(String part) throws Exception {
        String json = binaryHead(SOME);
        String wrong = part.startsWith("{")
                ? part + json.substring(part.length())
                : part.startsWith("\"shape")
                        ? json.replaceFirst("\"shape\":\\[.", part)
                        : part.startsWith("\"parameters")
                                ? "{" + part + json.substring(1)
                                : json.replace("\"datatype\":\"INT8\"", part);
        byte[] body = Arrays.copyOf(wrong.getBytes(StandardCharsets.US_ASCII), wrong.length() + SOME);
        upstreamResponse = new Written(Framing.LENGTH, body, wrong.length());
        try (Stage stage = stage();
                Http1Client client = stage.http1()) {
            client.post(PATH, REQUEST);
            Http1Client.Response response = client.response();
            assertThat(response.status()).as(response.text()).isEqualTo(502);
            assertThat(response.text()).startsWith("{\"error\":");
        }
    }

    @Test
    void responseBeyondTheLimit_endsShort() throws Exception {
        upstreamResponse = binary(Framing.CHUNKED, LIMIT);
        try (Stage stage = stage();
                Http1Client client = stage.http1()) {
            client.post(PATH, REQUEST);
            Http1Client.Head head = client.head();
            assertThatThrownBy(() -> body(client, head)).isInstanceOf(IOException.class);
        }
    }

    @Test
    void responseThatIsAllJson_thoughItNamesTheLengthOfItsJson_isJson() throws Exception {
        byte[] json = json(SOME);
        for (Framing framing : List.of(Framing.LENGTH, Framing.CHUNKED)) {
            upstreamResponse = new Written(framing, json, json.length);
            try (Stage stage = stage();
                    Http1Client client = stage.http1()) {
                client.post(PATH, REQUEST);
                Http1Client.Head head = client.head();
                assertThat(head.status()).isEqualTo(200);
                assertThat(body(client, head)).isEqualTo(latin(json));
            }
        }
    }

    /** Asserts that the complete response is read from the server although the client reads nothing. */
    private void expectGathered(Stage stage, String... headers) throws Exception {
        expectGathered("m", stage, headers);
    }

    private void expectGathered(String model, Stage stage, String... headers) throws Exception {
        upstreamResponse = new Written(Framing.LENGTH, json(model, SOME), 0);
        halts = true;
        try (Http1Client client = stage.http1()) {
            client.post(PATH, REQUEST, headers);
            await().until(() -> used(stage) > SOME / 3.0);
            half.countDown();
            assertThat(client.head().status()).isEqualTo(200);
        }
    }

    @Test
    void responseOfARenamedModel_isGathered() throws Exception {
        try (Stage stage = stage(upstream(), TestConfigs.with(ModelConfig.of("server"), Map.of("model", "other")))) {
            expectGathered("other", stage);
        }
    }

    @Test
    void responseThatIsCompressed_isGathered() throws Exception {
        try (Stage stage = stage()) {
            expectGathered(stage, "Accept-Encoding: gzip");
        }
    }

    @Test
    void responseOfATry_thatHasLessTime_isGathered() throws Exception {
        UpstreamConfig impatient = TestConfigs.with(upstream(), Map.of("tryTimeout", Duration.ofSeconds(50)));
        try (Stage stage = stage(impatient, ModelConfig.of("server"))) {
            expectGathered(stage);
        }
    }

    @Test
    void responseToAClientOfHttp10_thatHasNoLength_isGathered() throws Exception {
        upstreamResponse = new Written(Framing.CHUNKED, json(SOME), 0);
        try (Stage stage = stage();
                Http1Client client = stage.http1()) {
            client.send("POST " + PATH + " HTTP/1.0\r\nContent-Length: " + REQUEST.length() + "\r\n\r\n" + REQUEST);
            assertThat(client.response().text()).isEqualTo(latin(upstreamResponse.body()));
        }
    }
}
