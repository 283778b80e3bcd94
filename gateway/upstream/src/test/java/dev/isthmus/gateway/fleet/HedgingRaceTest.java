package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.Hedging;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.transcoder.InferMessage;
import io.grpc.ServerCall;
import io.grpc.StatusRuntimeException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Two real servers that answer the same call at the same moment. */
class HedgingRaceTest {
    private static final int CALLS = 300;
    private static final int CONCURRENT = 10;
    private static final String HELD = "held";

    private final ClusterBench fleet = new ClusterBench();
    private final AtomicLong ahead = new AtomicLong();
    /** What the server does that was asked first; by request. */
    private final Map<String, Runnable> waiting = new ConcurrentHashMap<>();

    @AfterEach
    void nothingIsHeld() {
        fleet.close();
    }

    private Cluster hedging(UpstreamProtocol protocol, Endpoint... servers) {
        UpstreamConfig config = TestConfigs.with(
                TestConfigs.upstream(protocol, servers),
                Map.of("hedging", new Hedging(0.5, 1, Duration.ofMillis(1)), "timeout", Duration.ofMinutes(2)));
        return fleet.cluster(config, () -> System.nanoTime() + ahead.get(), servers);
    }

    /** A request that is held is answered when the other server has it, too: then by both. */
    private void answer(String request, Runnable answer) {
        if (!request.contains(HELD)) {
            answer.run();
            return;
        }
        Runnable other = waiting.putIfAbsent(request, answer);
        if (other != null) {
            Thread.startVirtualThread(other);
            answer.run();
        }
    }

    private FakeGrpcServer grpc() throws Exception {
        return FakeGrpcServer.unary((request, call) ->
                answer(new String(request, StandardCharsets.ISO_8859_1), () -> respondUnlessCancelled(call, request)));
    }

    /** The other server may have been faster, so that this call was cancelled. */
    private static void respondUnlessCancelled(ServerCall<byte[], byte[]> call, byte[] request) {
        try {
            FakeGrpcServer.respond(call, request);
        } catch (StatusRuntimeException | IllegalStateException cancelled) {
            assertThat(call.isCancelled()).isTrue();
        }
    }

    private FakeRestServer rest() throws Exception {
        return FakeRestServer.that((request, out) -> {
            var answered = new CompletableFuture<Boolean>();
            answer(request.body(), () -> answered.complete(true));
            answered.join();
            FakeRestServer.write(out, FakeRestServer.ok(request.body()));
            return true;
        });
    }

    /** Its answer is the request. */
    private static byte[] request(Random random, int number, boolean held) {
        return ("{\"id\":\"" + number + (held ? HELD : "") + "x".repeat(random.nextInt(2000)) + "\"}")
                .getBytes(StandardCharsets.ISO_8859_1);
    }

    private static byte[] answer(RecordedReply reply) throws Exception {
        ByteBuf body = switch (reply.inference()) {
            case InferMessage.ProtobufMessage message -> message.message();
            case InferMessage.RestMessage message -> message.body().content();
            case InferMessage other -> throw new AssertionError("an answer on the wire is expected, not " + other);
        };
        try {
            return ByteBufUtil.getBytes(body);
        } finally {
            body.release();
        }
    }

    private void race(Cluster cluster) throws Exception {
        Random random = new Random(20_261_126);
        // The latency is known after a second with 50 calls.
        for (int i = 0; i < 51; i++) {
            byte[] sent = request(random, i, false);
            if (i == 50) {
                ahead.set(Duration.ofSeconds(1).toNanos());
            }
            assertThat(answer(fleet.infer(cluster, sent))).isEqualTo(sent);
        }
        for (int round = 0; round < CALLS / CONCURRENT; round++) {
            List<byte[]> sent = new ArrayList<>();
            List<RecordedReply> replies = new ArrayList<>();
            for (int i = 0; i < CONCURRENT; i++) {
                sent.add(request(random, 1000 + round * CONCURRENT + i, i % 3 > 0));
                replies.add(fleet.infer(cluster, sent.getLast()));
            }
            for (int i = 0; i < CONCURRENT; i++) {
                assertThat(answer(replies.get(i))).isEqualTo(sent.get(i));
            }
        }
        assertThat(fleet.hedges("sent")).isGreaterThanOrEqualTo(waiting.size());
        assertThat(waiting).hasSize(CALLS / CONCURRENT * 6);
    }

    @Test
    void overGrpc_eachCallHasOneAnswer_asAlone() throws Exception {
        try (var one = grpc();
                var two = grpc()) {
            race(hedging(UpstreamProtocol.GRPC, one.endpoint(), two.endpoint()));
        }
    }

    @Test
    void overRest_eachCallHasOneAnswer_asAlone() throws Exception {
        try (var one = rest();
                var two = rest()) {
            race(hedging(UpstreamProtocol.REST, one.endpoint(), two.endpoint()));
        }
    }
}
