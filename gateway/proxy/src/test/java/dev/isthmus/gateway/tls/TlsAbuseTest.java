package dev.isthmus.gateway.tls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.flow.ProxyServer;
import dev.isthmus.gateway.http2.RawFrames;
import dev.isthmus.gateway.http2.RawHttp2Connection;
import dev.isthmus.gateway.settings.TestAuthority;
import dev.isthmus.proto.ModelReadyRequest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2FrameTypes;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.IntFunction;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients that abuse HTTP/2 and HTTP/1.1 over TLS, in records of many frames and in records of one byte. */
@Timeout(120)
class TlsAbuseTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final int TURNS = 10_000;

    @TempDir
    Path folder = Path.of("");

    private ProxyServer gateway;
    private SSLContext client;

    @BeforeEach
    void start() throws Exception {
        TestAuthority authority = new TestAuthority(folder, "ca");
        authority.issue("one", "localhost");
        gateway = ProxyServer.start(TlsStage.config(folder, """
                default_upstream: local
                local: {embedded_models: true}
                health: {warm_up: 0s}
                limits:
                  http2_abuse:
                    {stream_reset_burst: 20, stream_reset_rate: 0, stream_error_burst: 20, stream_error_rate: 0,
                     control_frame_burst: 20, control_frame_rate: 0, control_frames_per_data: 0, max_queued_frames: 20}
                listeners:
                - {port: 0, tls: {certificates: [{certificate: ca-one.pem, key: ca-one.key}]}}
                """));
        client = TlsStage.trusting(authority, null);
    }

    @AfterEach
    void stop() throws Exception {
        // Others are served meanwhile, and nothing of the attack is held.
        try (SSLSocket bystander = TlsStage.connect(client, TlsStage.port(gateway), null)) {
            assertThat(TlsStage.live(bystander)).startsWith("HTTP/1.1 200 OK");
        }
        await().atMost(PATIENCE)
                .until(() -> gateway.meters().get("isthmus.memory.used").gauge().value() == 0);
        gateway.close();
    }

    /** What a client sends again and again on its connection, and the rule that ends it. */
    enum Flood {
        RESETS(
                "stream_resets",
                turn -> Unpooled.wrappedBuffer(
                        RawFrames.call(2 * turn + 1, "ModelInfer"),
                        frame(Http2FrameTypes.RST_STREAM, 0, 2 * turn + 1, Unpooled.copyInt(8)))),
        MALFORMED_REQUESTS("stream_errors", turn -> RawFrames.headers(2 * turn + 1, true, ":method", "GET")),
        PINGS("control_frames", turn -> frame(Http2FrameTypes.PING, 0, 0, Unpooled.copyLong(turn))),
        SETTINGS("control_frames", turn -> RawFrames.settings()),
        WINDOW_UPDATES("control_frames", turn -> RawFrames.windowUpdate(0, 1)),
        PRIORITIES(
                "control_frames", turn -> frame(Http2FrameTypes.PRIORITY, 0, 1, Unpooled.wrappedBuffer(new byte[5]))),
        EMPTY_DATA(
                "control_frames",
                turn -> turn == 0 ? RawFrames.call(1, "ModelInfer") : RawFrames.data(1, Unpooled.EMPTY_BUFFER, false)),
        CONTINUATIONS(
                "header_block",
                turn -> frame(
                        turn == 0 ? Http2FrameTypes.HEADERS : Http2FrameTypes.CONTINUATION,
                        0,
                        1,
                        Unpooled.wrappedBuffer(new byte[] {(byte) 0x83}))),
        /** A field of 4 KiB in the dynamic table, and references to it. */
        HEADER_BOMB("header_block", turn -> frame(Http2FrameTypes.HEADERS, 5, 2 * turn + 1, bomb()));

        private final String rule;

        @SuppressWarnings("ImmutableEnumChecker") // it has no state
        private final IntFunction<ByteBuf> turns;

        Flood(String rule, IntFunction<ByteBuf> turns) {
            this.rule = rule;
            this.turns = turns;
        }

        private static ByteBuf frame(int type, int flags, int stream, ByteBuf payload) {
            return RawFrames.frame(type, flags, stream, payload);
        }

        private static ByteBuf bomb() {
            byte[] value = "v".repeat(3_900).getBytes(StandardCharsets.US_ASCII);
            ByteBuf block = Unpooled.buffer();
            // A literal with incremental indexing: a name of one byte, a value of 127 + 3773 bytes.
            block.writeByte(0x40)
                    .writeByte(1)
                    .writeByte('a')
                    .writeByte(0x7f)
                    .writeByte(0xbd)
                    .writeByte(0x1d);
            block.writeBytes(value);
            while (block.writerIndex() < 16_000) {
                block.writeByte(0x80 | 62);
            }
            return block;
        }
    }

    @ParameterizedTest
    @EnumSource(Flood.class)
    void flood_endsTheConnection(Flood flood) throws Exception {
        try (SSLSocket socket = TlsStage.connect(client, TlsStage.port(gateway), null, "h2");
                RawHttp2Connection connection = RawHttp2Connection.over(socket)) {
            Thread reader = Thread.ofVirtual().start(() -> read(connection));
            for (int turn = 0; turn < TURNS && reader.isAlive(); turn++) {
                connection.write(flood.turns.apply(turn));
            }
            reader.join(PATIENCE);
            assertThat(reader.isAlive()).isFalse();
        } catch (IOException closed) {
            // The gateway closed the connection while the client wrote.
            assertThat(closed).isNotNull();
        }
        await().atMost(PATIENCE)
                .until(() -> TlsStage.count(gateway, "isthmus.http2.abuse", "side", "client", "rule", flood.rule) == 1);
    }

    private static void read(RawHttp2Connection connection) {
        try {
            connection.awaitEnd();
        } catch (IOException closed) {
            return;
        }
    }

    /** Each byte of the connection in a TLS record of its own, and the message in DATA frames of one byte. */
    @Test
    void smallRecordsAndFrames_areServed() throws Exception {
        byte[] message =
                ModelReadyRequest.newBuilder().setName("simple").build().toByteArray();
        ByteBuf framed = Unpooled.buffer().writeByte(0).writeInt(message.length).writeBytes(message);
        try (SSLSocket socket = TlsStage.connect(client, TlsStage.port(gateway), null, "h2");
                RawHttp2Connection connection = RawHttp2Connection.over(socket)) {
            byByte(connection, RawFrames.call(1, "ModelReady"));
            while (framed.isReadable()) {
                byByte(connection, RawFrames.data(1, framed.readSlice(1), framed.readableBytes() == 0));
            }
            assertThat(connection.await(Http2FrameTypes.DATA)).isEqualTo(1);
        }
    }

    /** {@code ~} is CR LF. Some of the messages of RequestGrammarTest, in one record and in records of one byte. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "Content-Length: 2~Transfer-Encoding: chunked~~0~~",
                "Transfer-Encoding: chunked~Transfer-Encoding: chunked~~0~~",
                "Transfer-Encoding:~ chunked~~0~~",
                "Transfer-Encoding : chunked~~0~~",
                "Transfer-Encoding: xchunked~~0~~",
                "Content-Length: 2~Content-Length: 3~~ab",
                "Content-Length: +2~~ab",
                "X: b\rContent-Length: 2~~ab",
                "X: b\n\n",
                "Transfer-Encoding: chunked~~1\na~0~~",
                "Transfer-Encoding: chunked~~100000001~a~0~~",
            })
    void ambiguousMessage_isRefused_andNothingAfterItIsServed(String fields) throws Exception {
        String message =
                "POST /v2/models/simple/infer HTTP/1.1~Host: a~" + fields + "GET /v2/health/live HTTP/1.1~Host: a~~";
        byte[] bytes = message.replace("~", "\r\n").getBytes(StandardCharsets.ISO_8859_1);
        for (int record : List.of(1, bytes.length)) {
            try (SSLSocket socket = TlsStage.connect(client, TlsStage.port(gateway), null, "http/1.1")) {
                socket.startHandshake();
                Thread.ofVirtual().start(() -> send(socket, bytes, record));
                String responses = new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
                assertThat(responses).startsWith("HTTP/1.1 400 ").doesNotContain("HTTP/1.1 200");
            }
        }
    }

    private static void send(SSLSocket socket, byte[] bytes, int record) {
        try {
            for (int at = 0; at < bytes.length; at += record) {
                socket.getOutputStream().write(bytes, at, record);
            }
        } catch (IOException closed) {
            // Refused before all was sent.
            return;
        }
    }

    private static void byByte(RawHttp2Connection connection, ByteBuf bytes) throws IOException {
        for (byte each : ByteBufUtil.getBytes(bytes)) {
            connection.write(Unpooled.wrappedBuffer(new byte[] {each}));
        }
    }
}
