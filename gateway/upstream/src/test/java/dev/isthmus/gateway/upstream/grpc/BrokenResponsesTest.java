package dev.isthmus.gateway.upstream.grpc;

import static dev.isthmus.gateway.settings.TestConfigs.loopback;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.http2.RawHttp2Connection;
import dev.isthmus.gateway.http2.RawHttp2Server;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.protobuf.StreamEnvelope;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.codec.http2.Http2Flags;
import io.netty.handler.codec.http2.Http2FrameTypes;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Responses that violate gRPC over HTTP/2. */
class BrokenResponsesTest {
    private static final String NOT_GRPC = "upstream 'triton' sent a response that is not gRPC";
    private static final String NO_STATUS = "upstream 'triton' ended its response without a status";

    private final GrpcUpstreamCalls calls = new GrpcUpstreamCalls();

    @AfterEach
    void nothingIsHeld() {
        calls.close();
    }

    private OipException failure(RawHttp2Server.Responder responder) throws Exception {
        try (var server = RawHttp2Server.responding(responder)) {
            return calls.infer(calls.to(loopback(server.port()))).failure();
        }
    }

    private void expectBad(String text, RawHttp2Server.Responder responder) throws Exception {
        OipException failure = failure(responder);
        assertThat(failure).hasMessage(text);
        assertThat(failure.code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER);
        assertThat(failure.processed()).isEqualTo(Processed.YES);
    }

    @ParameterizedTest
    @CsvSource({
        "400, INVALID_ARGUMENT",
        "401, UNAUTHENTICATED",
        "403, PERMISSION_DENIED",
        "404, UNIMPLEMENTED",
        "408, REQUEST_TIMEOUT",
        "413, PAYLOAD_TOO_LARGE",
        "429, RESOURCE_EXHAUSTED",
        "431, INVALID_ARGUMENT",
        "500, UNKNOWN",
        "502, UNAVAILABLE",
        "503, UNAVAILABLE",
        "504, UNAVAILABLE",
        "599, UNKNOWN",
    })
    void httpStatus_ofAProxy_isMapped(String status, ErrorCode code) throws Exception {
        OipException failure =
                failure((peer, stream) -> peer.headers(stream, false, ":status", status, "content-type", "text/html"));
        assertThat(failure.code()).isEqualTo(code);
        assertThat(failure).hasMessage("upstream 'triton' returned HTTP status " + status);
        assertThat(failure.processed()).isEqualTo(Processed.YES);
    }

    @ParameterizedTest
    @ValueSource(strings = {"200", "204", "600", "999"})
    void httpStatus_withoutGrpc_isBad(String status) throws Exception {
        expectBad(
                NOT_GRPC,
                (peer, stream) -> peer.headers(stream, false, ":status", status, "content-type", "text/html"));
    }

    @Test
    void redirect_isAFailureThatSaysSo() throws Exception {
        expectBad(
                "upstream 'triton' redirects to 'https://models.example/x' (status 302), which is not followed: 'endpoints', 'tls', 'host' or"
                        + " 'path_prefix' must be another one",
                (peer, stream) ->
                        peer.headers(stream, true, ":status", "302", "location", "https://models.example/x?s=s3cret"));
    }

    @Test
    void contentType_missing_isBad() throws Exception {
        expectBad(NOT_GRPC, (peer, stream) -> peer.headers(stream, false, ":status", "200"));
    }

    @Test
    void trailers_withoutStatus_areBad() throws Exception {
        expectBad(NO_STATUS, (peer, stream) -> {
            peer.head(stream);
            peer.message(stream);
            peer.headers(stream, true, "x-other", "0");
        });
    }

    @Test
    void head_withoutStatusThatEndsTheResponse_isBad() throws Exception {
        expectBad(
                NO_STATUS,
                (peer, stream) -> peer.headers(stream, true, ":status", "200", "content-type", "application/grpc"));
    }

    @Test
    void data_thatEndsTheResponse_isBad() throws Exception {
        expectBad(NO_STATUS, (peer, stream) -> {
            peer.head(stream);
            peer.send(
                    Http2FrameTypes.DATA, Http2Flags.END_STREAM, stream, (byte) 0, (byte) 0, (byte) 0, (byte) 0, (byte)
                            0);
        });
    }

    @Test
    void data_beforeTheHead_isBad() throws Exception {
        expectBad(NOT_GRPC, (peer, stream) -> peer.message(stream));
    }

    @Test
    void message_thatIsNotAll_isBad() throws Exception {
        expectBad(NOT_GRPC, (peer, stream) -> {
            peer.head(stream);
            peer.send(Http2FrameTypes.DATA, 0, stream, (byte) 0, (byte) 0, (byte) 0, (byte) 0, (byte) 2, (byte) 7);
            peer.trailers(stream);
        });
    }

    @Test
    void message_compressedInNoKnownWay_isBad() throws Exception {
        expectBad(NOT_GRPC, (peer, stream) -> {
            peer.head(stream);
            peer.send(Http2FrameTypes.DATA, 0, stream, (byte) 1, (byte) 0, (byte) 0, (byte) 0, (byte) 1, (byte) 7);
        });
    }

    @Test
    void encoding_thatNobodyKnows_isBad() throws Exception {
        expectBad(
                NOT_GRPC,
                (peer, stream) -> peer.headers(
                        stream,
                        false,
                        ":status",
                        "200",
                        "content-type",
                        "application/grpc+proto",
                        "grpc-encoding",
                        "snappy"));
    }

    @Test
    void messages_withoutEnd_areRefusedAtTheSecond() throws Exception {
        CompletableFuture<Integer> reset = new CompletableFuture<>();
        try (var server = RawHttp2Server.responding((peer, stream) -> {
            peer.head(stream);
            peer.message(stream);
            peer.message(stream);
            reset.complete(peer.await(Http2FrameTypes.RST_STREAM));
        })) {
            assertThat(calls.infer(calls.to(loopback(server.port()))).failure())
                    .hasMessage("upstream 'triton' sent more than one response message");
            assertThat(reset.get(20, TimeUnit.SECONDS)).isEqualTo(1);
        }
    }

    @Test
    void trailersOnly_withoutContentType_areTheServersStatus() throws Exception {
        OipException failure = failure((peer, stream) -> peer.headers(
                stream, true, ":status", "200", "grpc-status", "5", "grpc-message", "no model %22%C3%A9%22"));
        assertThat(failure.code()).isEqualTo(ErrorCode.NOT_FOUND);
        assertThat(failure).hasMessage("no model \"é\"");
    }

    @ParameterizedTest
    @ValueSource(strings = {"17", "abc", "-1", "99999999999"})
    void status_thatNobodyKnows_isUnknown(String status) throws Exception {
        OipException failure =
                failure((peer, stream) -> peer.headers(stream, true, ":status", "200", "grpc-status", status));
        assertThat(failure.code()).isEqualTo(ErrorCode.UNKNOWN);
        assertThat(failure).hasMessage("upstream 'triton' returned UNKNOWN");
    }

    @ParameterizedTest
    @CsvSource({
        "0, UNAVAILABLE, MAYBE, closed the connection",
        "1, BAD_UPSTREAM_ANSWER, YES, sent a response that is not gRPC",
        "2, BAD_UPSTREAM_ANSWER, YES, sent a response that is not gRPC",
        "7, UNAVAILABLE, MAYBE, closed the connection",
        "8, UNAVAILABLE, MAYBE, closed the connection",
        "11, RESOURCE_EXHAUSTED, YES, refused the call",
        "4711, BAD_UPSTREAM_ANSWER, YES, sent a response that is not gRPC",
    })
    void reset_ofAResponse_isWhatItsCodeSays(int reset, ErrorCode code, Processed processed, String text)
            throws Exception {
        OipException failure = failure((peer, stream) -> {
            peer.head(stream);
            peer.words(Http2FrameTypes.RST_STREAM, stream, reset);
        });
        assertThat(failure).hasMessage("upstream 'triton' " + text);
        assertThat(failure.code()).isEqualTo(code);
        assertThat(failure.processed()).isEqualTo(processed);
    }

    @Test
    void response_thenReset_isTheResponse() throws Exception {
        try (var server = RawHttp2Server.responding((peer, stream) -> {
            peer.respond(stream);
            peer.words(Http2FrameTypes.RST_STREAM, stream, 0);
        })) {
            assertThat(calls.infer(calls.to(loopback(server.port()))).protobuf())
                    .containsExactly(7);
        }
    }

    @Test
    void response_beforeTheRequestIsAllSent_endsTheRequest() throws Exception {
        CompletableFuture<Integer> reset = new CompletableFuture<>();
        try (var server = RawHttp2Server.responding((peer, stream) -> {
            peer.headers(stream, true, ":status", "200", "grpc-status", "8", "grpc-message", "too large");
            reset.complete(peer.await(Http2FrameTypes.RST_STREAM));
        })) {
            GrpcUpstream upstream = calls.to(loopback(server.port()));
            RecordedReply reply = calls.infer(upstream, calls.bench.call(), 1 << 20);
            assertThat(reply.failure()).hasMessage("too large");
            assertThat(reset.get(20, TimeUnit.SECONDS)).isEqualTo(1);
        }
    }

    private RecordedReply streamed(String server, byte... message) throws Exception {
        try (var fake = RawHttp2Server.responding((peer, stream) -> {
            peer.head(stream);
            byte[] prefix = {0, 0, 0, 0, (byte) message.length};
            peer.send(Http2FrameTypes.DATA, 0, stream, prefix);
            peer.send(Http2FrameTypes.DATA, 0, stream, message);
            peer.trailers(stream);
        })) {
            GrpcUpstream upstream = calls.to(loopback(fake.port()));
            upstream.capabilities().learn(new ServerMetadata(server, "", List.of()));
            RecordedReply reply = calls.infer(upstream, calls.bench.call(), 1, true);
            try {
                reply.response();
            } catch (ExecutionException _) {
                // As its failure says.
            }
            return reply;
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"triton", "unknown"})
    void messageOfAStream_thatIsCutShort_isBad(String server) throws Exception {
        OipException failure =
                streamed(server, (byte) (1 << 3 | 2), (byte) 9, (byte) 0).failure();

        assertThat(failure).hasMessage("upstream 'triton' sent a message that violates the protocol");
        assertThat(failure.code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER);
    }

    @ParameterizedTest
    @CsvSource({
        "Request for unknown model: 'm' is not found, NOT_FOUND",
        "[request id: 1] Exceeds maximum queue size, UNAVAILABLE",
        "[request id: 1] Request timeout expired, UNAVAILABLE",
        "[request id: 1] expected 2 inputs, INVALID_ARGUMENT",
        "out of luck, UNKNOWN",
    })
    void errorOfTritonsStream_hasTheCodeThatItsTextSays(String text, ErrorCode code) throws Exception {
        ByteBuf message = StreamEnvelope.error(UnpooledByteBufAllocator.DEFAULT, text, "");
        byte[] bytes = ByteBufUtil.getBytes(message);
        message.release();

        ReplyMessage answer = streamed("triton", bytes).response();

        assertThat(((ReplyMessage.StreamError) answer).failure().code()).isEqualTo(code);
        assertThat(((ReplyMessage.StreamError) answer).failure()).hasMessage(text);
    }

    /** There is no memory to inflate one response; other calls on the connection go on. */
    @Test
    void response_thatThereIsNoMemoryFor_failsItsCallAlone() throws Exception {
        ByteBuf content = requireNonNull(ContentCoding.GZIP.compress(
                UnpooledByteBufAllocator.DEFAULT, Unpooled.wrappedBuffer(new byte[] {7}), 0));
        byte[] message = ByteBufUtil.getBytes(
                Unpooled.buffer().writeByte(1).writeInt(content.readableBytes()).writeBytes(content));
        content.release();
        RawHttp2Server.Responder responder = (peer, stream) -> {
            if (stream == 3) {
                peer.headers(
                        stream, false, ":status", "200", "content-type", "application/grpc", "grpc-encoding", "gzip");
                peer.send(Http2FrameTypes.DATA, 0, stream, message);
            } else if (stream == 5) {
                peer.respond(1);
                peer.respond(5);
            }
        };
        try (var server = RawHttp2Server.responding(responder)) {
            GrpcUpstream upstream = calls.withoutMemory(loopback(server.port()), largest -> largest == 64 << 10);
            RecordedReply waiting = calls.infer(upstream);
            OipException failure = calls.infer(upstream).failure();
            assertThat(failure).hasMessage("out of memory for the response");
            assertThat(failure.code()).isEqualTo(ErrorCode.OVERLOADED);
            calls.infer(upstream).discard();
            waiting.discard();
            assertThat(server.connections()).isOne();
        }
    }

    /** There is no memory for the prefix of a request; the calls behind it are sent over the same connection. */
    @Test
    void request_thatThereIsNoMemoryFor_failsItsCallAlone() throws Exception {
        try (var server = RawHttp2Server.responding(RawHttp2Connection::respond)) {
            GrpcUpstream upstream = calls.withoutMemory(loopback(server.port()), largest -> largest == 6);
            RecordedReply first = calls.infer(upstream);
            RecordedReply larger = calls.infer(upstream, calls.bench.call(), 2);
            assertThat(first.failure()).hasMessage("out of memory for the request");
            assertThat(first.failure().code()).isEqualTo(ErrorCode.OVERLOADED);
            larger.discard();
            assertThat(server.connections()).isOne();
        }
    }

    /** The call has failed with what is thrown, and nobody has the stream. */
    @Test
    void requestForEvents_thatThereIsNoMemoryFor_leavesNoStreamOpen() throws Exception {
        CompletableFuture<Integer> reset = new CompletableFuture<>();
        try (var server = new RawHttp2Server(peer -> {
            peer.hello();
            peer.respond(peer.request());
            int events = peer.request();
            reset.complete(peer.await(Http2FrameTypes.RST_STREAM) - events);
        })) {
            GrpcUpstream upstream = calls.withoutMemory(loopback(server.port()), largest -> largest == 6);
            calls.infer(upstream, calls.bench.call(), 2).response().release();
            calls.infer(upstream, calls.bench.call(), 1, true);
            assertThat(reset.get(20, TimeUnit.SECONDS)).isZero();
        }
    }
}
