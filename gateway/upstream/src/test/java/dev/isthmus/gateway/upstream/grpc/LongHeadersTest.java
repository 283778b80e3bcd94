package dev.isthmus.gateway.upstream.grpc;

import static dev.isthmus.gateway.settings.TestConfigs.loopback;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.http2.RawHttp2Connection;
import dev.isthmus.gateway.http2.RawHttp2Server;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2FrameTypes;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Header blocks that are longer than what clients get: they concern their own stream only. */
class LongHeadersTest {
    private static final int BOUND = 1 << 20;

    private final GrpcUpstreamCalls calls = new GrpcUpstreamCalls();

    @AfterEach
    void nothingIsHeld() {
        calls.close();
    }

    /** Checks a reply. */
    @FunctionalInterface
    private interface ReplyCheck {
        void check(RecordedReply reply) throws Exception;
    }

    /** Two calls on one connection: the second is responded to by {@code respond}, then the first successfully. */
    private void expect(RawHttp2Server.Responder respond, ReplyCheck ofSecond) throws Exception {
        expect(respond, ofSecond, first -> assertThat(first.protobuf()).containsExactly(7));
    }

    private void expect(RawHttp2Server.Responder respond, ReplyCheck ofSecond, ReplyCheck ofFirst) throws Exception {
        CompletableFuture<Void> arrived = new CompletableFuture<>();
        try (var server = new RawHttp2Server(connection -> {
            connection.hello();
            int first = connection.request();
            arrived.complete(null);
            respond.respond(connection, connection.request());
            connection.respond(first);
            connection.awaitEnd();
        })) {
            GrpcUpstream upstream = calls.to(loopback(server.port()));
            RecordedReply first = calls.infer(upstream);
            arrived.get(20, TimeUnit.SECONDS);
            ofSecond.check(calls.infer(upstream));
            ofFirst.check(first);
            assertThat(server.connections()).isEqualTo(1);
        }
    }

    private static ReplyCheck failing(ErrorCode code, Processed processed, String text) {
        return reply -> {
            OipException failure = reply.failure();
            assertThat(failure).hasMessage(text);
            assertThat(failure.code()).isEqualTo(code);
            assertThat(failure.processed()).isEqualTo(processed);
        };
    }

    private static ReplyCheck dropped(String what) {
        return failing(ErrorCode.BAD_UPSTREAM_ANSWER, Processed.DROPPED, "upstream 'triton' sent " + what);
    }

    @ParameterizedTest
    @ValueSource(ints = {9_000, 20_000, 60_000, 70_000, 150_000, 1_000_000})
    void longErrorText_failsItsCallWithItsStart(int letters) throws Exception {
        expect(
                (peer, stream) -> peer.headers(
                        stream, true, ":status", "200", "grpc-message", "E".repeat(letters), "grpc-status", "13"),
                failing(ErrorCode.INTERNAL, Processed.YES, "E".repeat(4096) + "..."));
    }

    @Test
    void longErrorText_afterAHead_failsItsCallWithItsStart() throws Exception {
        expect(
                (peer, stream) -> {
                    peer.head(stream);
                    peer.headers(stream, true, "grpc-status", "3", "grpc-message", "%20".repeat(30_000));
                },
                failing(ErrorCode.INVALID_ARGUMENT, Processed.YES, " ".repeat(1365) + "..."));
    }

    @Test
    void longTrailersOfASuccess_thatClientsDoNotGet_areTaken() throws Exception {
        expect(
                (peer, stream) -> {
                    peer.head(stream);
                    peer.message(stream);
                    peer.headers(stream, true, "grpc-status", "0", "x-trace", "t".repeat(100_000));
                },
                reply -> assertThat(reply.protobuf()).containsExactly(7));
    }

    @Test
    void longHeadForTheClient_failsItsCall() throws Exception {
        expect(
                (peer, stream) -> peer.headers(
                        stream,
                        false,
                        ":status",
                        "200",
                        "content-type",
                        "application/grpc",
                        GrpcUpstreamCalls.RETURNED,
                        "t".repeat(17_000)),
                dropped("more header fields than are passed to clients"));
    }

    @Test
    void longTrailersForTheClient_failTheirCall() throws Exception {
        expect(
                (peer, stream) -> {
                    peer.head(stream);
                    peer.message(stream);
                    peer.headers(stream, true, "grpc-status", "0", GrpcUpstreamCalls.RETURNED, "t".repeat(17_000));
                },
                dropped("more header fields than are passed to clients"));
    }

    /** 300 times a field of 4,000 bytes that is in the table, for one byte each. */
    @Test
    void fieldsBeyondTheBound_failTheirCall() throws Exception {
        expect(
                (peer, stream) -> {
                    ByteBuf block = Unpooled.buffer();
                    // 4000 = 127 + 3873, in groups of seven bits.
                    block.writeByte(0x88).writeBytes(new byte[] {0x40, 1, 'x', 0x7f, (byte) 0xa1, 30});
                    block.writeBytes("v".repeat(4000).getBytes(StandardCharsets.US_ASCII));
                    block.writeBytes("\u00be".repeat(300).getBytes(StandardCharsets.ISO_8859_1));
                    peer.send(Http2FrameTypes.HEADERS, 5, stream, ByteBufUtil.getBytes(block));
                },
                dropped("more header fields than are accepted"));
    }

    /** The hard bound: what is larger is not decoded, and nothing that follows on the connection can be. */
    @Test
    void blockBeyondTheBound_closesTheConnection() throws Exception {
        ReplyCheck closed = failing(
                ErrorCode.UNAVAILABLE,
                Processed.MAYBE,
                "upstream 'triton' violated HTTP/2, and its connection was closed");
        expect(LongHeadersTest::bomb, closed, closed);
    }

    private static void bomb(RawHttp2Connection peer, int stream) throws IOException {
        byte[] part = new byte[16 << 10];
        peer.send(Http2FrameTypes.HEADERS, 0, stream, part);
        for (int sent = part.length; sent <= BOUND; sent += part.length) {
            peer.send(Http2FrameTypes.CONTINUATION, 0, stream, part);
        }
    }
}
