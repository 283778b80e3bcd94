package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.upstream.FakeRestServer;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A large REST response whose last byte makes it invalid, or that ends before it is complete, with an honest length:
 * the client never takes it for a complete one.
 */
class IncompleteRestResponseTest {
    private static final String PATH = "/v2/models/m/infer";
    private static final String REQUEST = Infer.json("a", 1);
    private static final int SIZE = 500_000;
    private static final int PIECE = 64 << 10;

    private FakeRestServer server;
    private volatile Written upstreamResponse = new Written(new byte[0], 0, true, PIECE);

    /**
     * What the server responds with.
     *
     * @param jsonLength 0 if it is all JSON
     * @param chunked whether it has no length
     * @param last bytes that are written alone, at the end
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Written(byte[] body, int jsonLength, boolean chunked, int last) {
        void write(OutputStream out) throws IOException {
            String head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                    + (jsonLength == 0 ? "" : "Inference-Header-Content-Length: " + jsonLength + "\r\n")
                    + (chunked ? "Transfer-Encoding: chunked" : "Content-Length: " + body.length)
                    + "\r\n\r\n";
            FakeRestServer.write(out, head);
            int end = body.length - last;
            for (int at = 0; at < end; at += PIECE) {
                write(out, at, Math.min(at + PIECE, end));
            }
            write(out, end, body.length);
            if (chunked) {
                FakeRestServer.write(out, "0\r\n\r\n");
            }
        }

        private void write(OutputStream out, int from, int to) throws IOException {
            if (chunked) {
                FakeRestServer.write(out, Integer.toHexString(to - from) + "\r\n");
            }
            out.write(body, from, to - from);
            if (chunked) {
                FakeRestServer.write(out, "\r\n");
            }
        }
    }

    @BeforeEach
    void start() throws Exception {
        server = FakeRestServer.that((request, out) -> {
            if (request.head().startsWith("POST")) {
                upstreamResponse.write(out);
            } else {
                FakeRestServer.write(out, FakeRestServer.ok("{}"));
            }
            return true;
        });
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
    }

    private Stage stage() throws Exception {
        return Stage.taking(
                16 << 20,
                Map.of("server", Stage.rest(server, ServerDialect.TRITON)),
                Map.of("m", ModelConfig.of("server")));
    }

    private static byte[] json(int shape) {
        int count = SIZE / 11;
        return ("{\"model_name\":\"m\",\"outputs\":[{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[" + (count + shape)
                        + "],\"data\":[0.48627451" + ",0.48627451".repeat(count - 1) + "]}]}")
                .getBytes(StandardCharsets.US_ASCII);
    }

    private static byte[] binaryHead(String more) {
        return ("{\"model_name\":\"m\"," + more + "\"outputs\":[{\"name\":\"y\",\"datatype\":\"INT8\",\"shape\":["
                        + SIZE + "],\"parameters\":{\"binary_data_size\":" + SIZE + "}}]}")
                .getBytes(StandardCharsets.US_ASCII);
    }

    /** How the response's length is sent, and to which client. */
    private enum Way {
        LENGTH,
        CHUNKED,
        LENGTH_HTTP2,
        CHUNKED_HTTP2;

        boolean chunked() {
            return this == CHUNKED || this == CHUNKED_HTTP2;
        }

        boolean http2() {
            return this == LENGTH_HTTP2 || this == CHUNKED_HTTP2;
        }
    }

    /** A short response, or, if all of it has arrived at once, an ordinary error. */
    private void expectShort(Stage stage, Way way) throws Exception {
        if (way.http2()) {
            try (Http2Client client = new Http2Client(stage.port())) {
                expectShort(client.post(PATH, REQUEST), way);
            }
            return;
        }
        try (Http1Client client = stage.http1()) {
            client.post(PATH, REQUEST);
            Http1Client.Head head = client.head();
            if (head.status() != 502) {
                assertThat(head.status()).isEqualTo(200);
                assertThatThrownBy(() -> body(client, head)).isInstanceOf(IOException.class);
            }
        }
    }

    private void expectShort(Http2Client.Response response, Way way) throws Exception {
        if (response.head().status().toString().equals("502")) {
            return;
        }
        assertThat(response.head().status()).hasToString("200");
        assertThat(response.reset()).isEqualTo(2);
        if (!way.chunked()) {
            assertThat(response.received()).isLessThan(upstreamResponse.body().length);
        }
    }

    private static String body(Http1Client client, Http1Client.Head head) throws IOException {
        return head.headers().containsKey("transfer-encoding")
                ? client.latinChunks()
                : client.latin(Integer.parseInt(head.headers().get("content-length")));
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void jsonWithoutItsEnd_endsShort(Way way) throws Exception {
        byte[] json = json(0);
        try (Stage stage = stage()) {
            for (int missing : List.of(1, 2, 3, 4, 9, 1000, SIZE / 4)) {
                for (int last : List.of(1, 1000, PIECE)) {
                    upstreamResponse = new Written(Arrays.copyOf(json, json.length - missing), 0, way.chunked(), last);
                    expectShort(stage, way);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void jsonWithFewerElementsThanItsShape_endsShort(Way way) throws Exception {
        upstreamResponse = new Written(json(1), 0, way.chunked(), PIECE);
        try (Stage stage = stage()) {
            expectShort(stage, way);
        }
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void binaryDataWithoutItsEnd_endsShort(Way way) throws Exception {
        byte[] head = binaryHead("");
        try (Stage stage = stage()) {
            for (int missing : List.of(1, 1000, SIZE / 2)) {
                for (int last : List.of(1, 1000, PIECE)) {
                    byte[] body = Arrays.copyOf(head, head.length + SIZE - missing);
                    upstreamResponse = new Written(body, head.length, way.chunked(), last);
                    expectShort(stage, way);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void binaryDataBeyondItsTensors_endsShort(Way way) throws Exception {
        byte[] head = binaryHead("");
        upstreamResponse = new Written(Arrays.copyOf(head, head.length + SIZE + 1), head.length, way.chunked(), 1);
        try (Stage stage = stage()) {
            expectShort(stage, way);
        }
    }

    /** Nothing is sent before all of the JSON is checked, so the client gets an ordinary error. */
    @Test
    void binaryResponseThatEndsInItsJson_isRefused() throws Exception {
        byte[] head = binaryHead("\"id\":\"" + "x".repeat(100_000) + "\",");
        upstreamResponse = new Written(Arrays.copyOf(head, head.length - 5), head.length, true, PIECE);
        try (Stage stage = stage();
                Http1Client client = stage.http1()) {
            assertThat(client.post(PATH, REQUEST).response().status()).isEqualTo(502);
        }
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void completeResponse_arrives_whateverTheLastWrite(Way way) throws Exception {
        try (Stage stage = stage()) {
            for (int last : List.of(1, 2, 1000, PIECE)) {
                upstreamResponse = new Written(json(0), 0, way.chunked(), last);
                assertThat(received(stage, way))
                        .isEqualTo(new String(upstreamResponse.body(), StandardCharsets.ISO_8859_1));
                byte[] head = binaryHead("");
                upstreamResponse =
                        new Written(Arrays.copyOf(head, head.length + SIZE), head.length, way.chunked(), last);
                assertThat(received(stage, way))
                        .isEqualTo(new String(upstreamResponse.body(), StandardCharsets.ISO_8859_1));
            }
        }
    }

    private static String received(Stage stage, Way way) throws Exception {
        if (way.http2()) {
            try (Http2Client client = new Http2Client(stage.port())) {
                return client.post(PATH, REQUEST).latin();
            }
        }
        try (Http1Client client = stage.http1()) {
            client.post(PATH, REQUEST);
            return body(client, client.head());
        }
    }
}
