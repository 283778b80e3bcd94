package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.coding.Compressed;
import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.proto.ModelInferRequest;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Compressed bodies over HTTP/1.1 and messages over gRPC, as read from the network. */
class CompressionTest {
    private static final int MAX_BODY = 5000;
    private static final String INFER = "/v2/models/m/infer";

    private final Calls calls = new Calls();
    private Ingress ingress;
    private Ingress.Client client;

    @BeforeEach
    void start() throws Exception {
        ingress = new Ingress(Transport.NIO, calls, MAX_BODY);
        client = ingress.connect();
    }

    @AfterEach
    void stop() throws Exception {
        client.close();
        ingress.close();
    }

    private Ingress.Response post(String token, byte[] body) throws Exception {
        return send(token, body).read();
    }

    private Ingress.Client send(String token, byte[] body) throws Exception {
        return client.send("POST " + INFER + " HTTP/1.1\r\nHost: a\r\nContent-Encoding: " + token
                + "\r\nContent-Length: " + body.length + "\r\n\r\n" + latin(body));
    }

    private static String latin(byte[] bytes) {
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }

    @Test
    void body_beyondTheRatio_isRefused() throws Exception {
        ingress.close();
        ingress = new Ingress(Transport.NIO, calls, 16 << 20);
        client.close();
        client = ingress.connect();
        Ingress.Response refused = post("gzip", Compressed.GZIP.of(new byte[8 << 20]));
        assertThat(refused.status()).isEqualTo(413);
        assertThat(refused.body()).contains("at most 100 bytes are accepted for each compressed one");
        expectUsable();
    }

    private void expectUsable() throws Exception {
        assertThat(client.post(INFER, "next").read().body()).isEqualTo("next");
    }

    @ParameterizedTest
    @EnumSource
    void body_isDecoded(Compressed form) throws Exception {
        assertThat(post(form.token(), form.of("hello")).body()).isEqualTo("hello");
        assertThat(post(form.token(), form.of("")).body()).isEmpty();
        expectUsable();
    }

    @Test
    void body_inTinyChunks_isDecoded() throws Exception {
        StringBuilder request = new StringBuilder("POST " + INFER
                + " HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n");
        for (byte each : Compressed.GZIP.of("hello")) {
            request.append("1\r\n").append((char) (each & 0xff)).append("\r\n");
        }
        assertThat(client.send(request.append("0\r\n\r\n").toString()).read().body())
                .isEqualTo("hello");
        expectUsable();
    }

    @ParameterizedTest
    @EnumSource
    void body_malformed_isRefused_andTheConnectionStaysUsable(Compressed form) throws Exception {
        byte[] good = form.of("hello");
        byte[] broken = good.clone();
        Arrays.fill(broken, 2, broken.length, (byte) 0xff);
        byte[] longer = Arrays.copyOf(good, good.length + 3);
        byte[] shorter = Arrays.copyOf(good, good.length - 1);
        for (byte[] body : new byte[][] {broken, longer, shorter}) {
            Ingress.Response response = post(form.token(), body);
            assertThat(response.status()).isEqualTo(400);
            assertThat(response.body()).startsWith("{\"error\":\"malformed compressed content");
            expectUsable();
        }
        assertThat(calls.cancelled).hasSize(3);
    }

    @Test
    void body_thatIsNotCompressed_isRefused() throws Exception {
        assertThat(post("gzip", "{\"inputs\":[]}".getBytes(StandardCharsets.UTF_8))
                        .status())
                .isEqualTo(400);
        expectUsable();
    }

    @ParameterizedTest
    @EnumSource
    void bomb_isTooLarge_andTheConnectionStaysUsable(Compressed form) throws Exception {
        byte[] bomb = form.of(new byte[2_000_000]);
        assertThat(bomb).hasSizeLessThan(MAX_BODY);
        Ingress.Response response = post(form.token(), bomb);
        assertThat(response.status()).isEqualTo(413);
        assertThat(response.body()).contains("at most 5000 bytes");
        expectUsable();
    }

    @Test
    void response_isCompressed_asTheClientTakesIt() throws Exception {
        String large = "x".repeat(2000);
        client.send("POST " + INFER + " HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip;q=0, deflate\r\nContent-Length: "
                + large.length() + "\r\n\r\n" + large);
        Ingress.Response deflated = client.read();
        assertThat(deflated.headers())
                .containsEntry("content-encoding", "deflate")
                .containsEntry("vary", "accept-encoding");
        assertThat(Integer.parseInt(deflated.headers().get("content-length"))).isLessThan(200);
        client.send("POST " + INFER + " HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip;q=0\r\nContent-Length: "
                + large.length() + "\r\n\r\n" + large);
        Ingress.Response plain = client.read();
        assertThat(plain.headers()).doesNotContainKey("content-encoding");
        assertThat(plain.body()).isEqualTo(large);
        client.send(
                "POST " + INFER + " HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\nContent-Length: 5\r\n\r\nsmall");
        assertThat(client.read().body()).isEqualTo("small");
    }

    @ParameterizedTest
    @ValueSource(strings = {"gzip", "deflate"})
    void grpc_messageMalformedOrTooLarge_endsTheCallAlone(String token) throws Exception {
        Compressed form = token.equals("gzip") ? Compressed.GZIP : Compressed.ZLIB;
        ModelInferRequest request = ModelInferRequest.newBuilder()
                .setModelName("m")
                .addRawInputContents(ByteString.copyFrom(new byte[1000]))
                .build();
        byte[] good = form.of(request.toByteArray());
        try (Http2Client grpc = new Http2Client(ingress.port())) {
            assertThat(call(grpc, token, good)).containsEntry("grpc-status", "0");
            byte[] garbage = Arrays.copyOf(good, good.length + 1);
            assertThat(call(grpc, token, garbage))
                    .containsEntry("grpc-status", "3")
                    .containsEntry("grpc-message", "malformed compressed content");
            byte[] cut = Arrays.copyOf(good, good.length - 1);
            assertThat(call(grpc, token, cut)).containsEntry("grpc-status", "3");
            byte[] bomb = form.of(new byte[MAX_BODY + 1]);
            assertThat(call(grpc, token, bomb)).containsEntry("grpc-status", "8");
            assertThat(call(grpc, "identity", good))
                    .containsEntry("grpc-status", "13")
                    .containsEntry("grpc-message", "gRPC message: compressed, but there is no grpc-encoding");
            assertThat(call(grpc, "snappy", good)).containsEntry("grpc-status", "12");
            assertThat(call(grpc, token, good)).containsEntry("grpc-status", "0");
        }
    }

    /** The trailers of a call with one compressed message. */
    private static Map<String, String> call(Http2Client client, String encoding, byte[] message) throws Exception {
        Map<String, String> trailers = new HashMap<>();
        client.post(
                        "/inference.GRPCInferenceService/ModelInfer",
                        framed(message),
                        "content-type",
                        "application/grpc",
                        "grpc-encoding",
                        encoding)
                .trailers()
                .forEach(each ->
                        trailers.put(each.getKey().toString(), each.getValue().toString()));
        return trailers;
    }

    private static byte[] framed(byte[] message) {
        return ByteBuffer.allocate(5 + message.length)
                .put((byte) 1)
                .putInt(message.length)
                .put(message)
                .array();
    }
}
