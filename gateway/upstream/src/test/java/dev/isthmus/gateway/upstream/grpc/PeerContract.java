package dev.isthmus.gateway.upstream.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.UpstreamBench;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import io.netty.buffer.ByteBuf;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What the client must do with every gRPC server. The test's server accepts ten concurrent streams per connection,
 * echoes messages, and follows the header {@code x-do}: {@code fail} with FAILED_PRECONDITION, {@code wait} forever,
 * {@code gzip} its response, {@code flood} with 400 messages of 64 KiB. {@code hold} waits forever, too; a call
 * {@code held} is answered when the server has begun to wait, a call {@code cancelled} when the wait was cancelled.
 */
public abstract class PeerContract {
    static final int STREAMS = 10;
    static final int FLOOD = 400;
    static final int PIECE = 64 * 1024;
    private static final ModelRef MODEL = ModelRef.of("simple");

    private final UpstreamBench bench = new UpstreamBench();
    private GrpcUpstream upstream = to(new Endpoint("127.0.0.1", 1));

    protected abstract Endpoint server() throws Exception;

    private GrpcUpstream to(Endpoint endpoint) {
        var settings = UpstreamSettings.of("peer", endpoint, Duration.ofSeconds(60), Duration.ofSeconds(10), 32 << 20);
        var knowledge = new ServerCapabilities(ServerDialect.MLSERVER, BinaryTensorData.AUTO, false);
        return new GrpcUpstream(settings, knowledge, bench.allocator());
    }

    @BeforeEach
    void connect() throws Exception {
        upstream = to(server());
    }

    @AfterEach
    void nothingIsHeld() {
        upstream.close();
        bench.close();
    }

    private static byte[] random(int size, int seed) {
        byte[] bytes = new byte[size];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    private ByteBuf buffer(byte[] bytes) {
        return bench.allocator().directBuffer(Math.max(1, bytes.length)).writeBytes(bytes);
    }

    private RecordedReply infer(Call call, byte[] bytes) {
        ByteBuf body = buffer(bytes);
        return bench.send(reply -> upstream.send(
                call, new UpstreamRequest.InferenceRequest(MODEL, new InferMessage.ProtobufMessage(body)), reply));
    }

    private static UpstreamRequest.InferenceRequest request(ByteBuf message) {
        return new UpstreamRequest.InferenceRequest(MODEL, new InferMessage.ProtobufMessage(message), "", true);
    }

    private Call call(String what) {
        return bench.call(Map.of("x-do", what));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 1024, 16_384, 602_112, 16 << 20})
    void unary_ofAnySize_passesTheBytesBothWays(int size) throws Exception {
        assertThat(infer(bench.call(), random(size, size)).protobuf()).isEqualTo(random(size, size));
    }

    @Test
    void unary_oneAfterTheOther_staysRight() throws Exception {
        for (int i = 0; i < 200; i++) {
            assertThat(infer(bench.call(Map.of("x-request-id", "r" + i)), random(i, i))
                            .protobuf())
                    .isEqualTo(random(i, i));
        }
    }

    @Test
    void unary_thousandAtOnce_allGetResponses() throws Exception {
        List<RecordedReply> replies = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            replies.add(infer(bench.call(), random(100 + i, i)));
        }
        for (int i = 0; i < 1000; i++) {
            assertThat(taken(replies.get(i), random(100 + i, i))).isEqualTo(random(100 + i, i));
        }
    }

    /** gRPC's C core counts a stream until its own last write has completed, and refuses one that follows at once. */
    private byte[] taken(RecordedReply first, byte[] bytes) throws Exception {
        RecordedReply reply = first;
        while (true) {
            try {
                return reply.protobuf();
            } catch (ExecutionException e) {
                assertThat(e.getCause()).hasMessage("upstream 'peer' accepts no more requests");
                reply = infer(bench.call(), bytes);
            }
        }
    }

    @Test
    void failure_keepsCodeAndWords() throws Exception {
        for (int i = 0; i < 3; i++) {
            OipException failure = infer(call("fail"), random(5, 5)).failure();
            assertThat(failure.code()).isEqualTo(ErrorCode.FAILED_PRECONDITION);
            assertThat(failure).hasMessage("50% of \"é\"\n");
        }
    }

    @Test
    void response_compressed_isInflated() throws Exception {
        byte[] bytes = new byte[100_000];
        assertThat(infer(call("gzip"), bytes).protobuf()).isEqualTo(bytes);
    }

    @Test
    void deadline_endsTheCallAlone() throws Exception {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(300);
        Call late = new Call(
                new Operation.ServerReady(), deadline, Map.of("x-do", "wait"), bench.loop(), bench.allocator());
        assertThat(infer(late, random(5, 5)).failure().code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
        assertThat(infer(bench.call(), random(5, 5)).protobuf()).isEqualTo(random(5, 5));
    }

    @Test
    void cancel_reachesTheServer() throws Exception {
        RecordedReply waits = infer(call("hold"), random(5, 5));
        assertThat(infer(call("held"), random(5, 5)).protobuf()).hasSize(5);
        waits.cancel();
        assertThat(infer(call("cancelled"), random(6, 6)).protobuf()).hasSize(6);
        assertThat(waits.ended()).isFalse();
    }

    private UpstreamStream open(Call call, StreamReply reply) throws Exception {
        return bench.loop()
                .submit(() -> upstream.inferStream(call, MODEL, reply))
                .get(20, TimeUnit.SECONDS);
    }

    /** Sends as fast as the server reads. */
    private void pump(UpstreamStream stream, Deque<byte[]> left) {
        while (!left.isEmpty() && stream.isReady()) {
            stream.send(bench.call(), request(buffer(left.remove())), false);
        }
        if (left.isEmpty()) {
            stream.end();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 100, PIECE})
    void stream_echoedWithinWhatBothTake_isComplete(int size) throws Exception {
        Deque<byte[]> left = new ArrayDeque<>();
        List<byte[]> sent = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            left.add(random(size, i));
            sent.add(random(size, i));
        }
        StreamReply reply = new StreamReply(Integer.MAX_VALUE);
        UpstreamStream stream = open(bench.call(), reply);
        reply.onMore(() -> pump(stream, left));
        bench.loop().execute(() -> pump(stream, left));
        assertThat(reply.outcome()).isEqualTo("completed");
        assertThat(reply.messages).containsExactlyElementsOf(sent);
    }

    @Test
    void stream_whoseClientTakesNoMore_waitsForIt() throws Exception {
        StreamReply reply = new StreamReply(3);
        UpstreamStream stream = open(call("flood"), reply);
        bench.loop().execute(() -> {
            stream.send(bench.call(), request(buffer(random(1, 1))), false);
            stream.end();
        });
        await().atMost(Duration.ofSeconds(20)).until(() -> reply.messages.size() == 3);
        assertThat(infer(bench.call(), random(PIECE, 1)).protobuf()).hasSize(PIECE);
        for (int i = 1; i < 5; i++) {
            int expected = 3 + 10 * i;
            bench.loop().execute(() -> {
                reply.take(10);
                stream.onReady();
            });
            await().atMost(Duration.ofSeconds(20)).until(() -> reply.messages.size() == expected);
            bench.settle();
            assertThat(reply.messages).hasSize(expected);
        }
        bench.loop().execute(() -> {
            reply.take(FLOOD);
            stream.onReady();
        });
        assertThat(reply.outcome()).isEqualTo("completed");
        assertThat(reply.messages)
                .hasSize(FLOOD)
                .allSatisfy(message -> assertThat(message).hasSize(PIECE));
    }

    @Test
    void stream_cancelledWhileItFloods_endsQuietly() throws Exception {
        StreamReply reply = new StreamReply(3);
        UpstreamStream stream = open(call("flood"), reply);
        bench.loop().execute(() -> stream.send(bench.call(), request(buffer(random(1, 1))), false));
        await().atMost(Duration.ofSeconds(20)).until(() -> reply.messages.size() == 3);
        bench.loop().submit(stream::cancel).get(20, TimeUnit.SECONDS);
        assertThat(infer(bench.call(), random(5, 5)).protobuf()).hasSize(5);
        assertThat(reply.messages).hasSize(3);
    }

    @Test
    void stream_thatFails_tellsWhatCameBefore() throws Exception {
        StreamReply reply = new StreamReply(Integer.MAX_VALUE);
        UpstreamStream stream = open(call("fail"), reply);
        bench.loop().execute(() -> stream.send(bench.call(), request(buffer(random(9, 1))), false));
        assertThat(reply.outcome()).isEqualTo("FAILED_PRECONDITION: 50% of \"é\"\n");
        assertThat(reply.messages).containsExactly(random(9, 1));
    }
}
