package dev.isthmus.gateway.batching;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.settings.BatchingConfig;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.gateway.upstream.UpstreamBench;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.proto.InferTensorContents;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.testing.FailingAllocator;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.WireLimits;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;

/** Whatever allocation of a joined call fails: each request is answered once, nothing is held, and calls go on. */
class ExhaustedMemoryOfBatchesTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final FailingAllocator memory = new FailingAllocator();

    private Call scarce(Call call) {
        return new Call(call.operation(), Call.NO_DEADLINE, Map.of(), call.loop(), memory);
    }

    /** A typed tensor, and one that is too large to be copied. */
    private static ModelInferRequest request(int rows, boolean typed) {
        ModelInferRequest.Builder request =
                ModelInferRequest.newBuilder().setModelName("m").setId("id-" + rows);
        ModelInferRequest.InferInputTensor.Builder input = request.addInputsBuilder()
                .setName("IN")
                .setDatatype("FP32")
                .addShape(rows)
                .addShape(600);
        if (typed) {
            InferTensorContents.Builder contents = InferTensorContents.newBuilder();
            for (int i = 0; i < rows * 600; i++) {
                contents.addFp32Contents(i);
            }
            input.setContents(contents);
            return request.build();
        }
        return request.addRawInputContents(ByteString.copyFrom(new byte[rows * 2400]))
                .build();
    }

    private static boolean ended(List<RecordedReply> replies) {
        return replies.stream().allMatch(RecordedReply::ended);
    }

    private void awaitNothingHeld() {
        await().atMost(PATIENCE).untilAsserted(() -> assertThat(memory.held()).isZero());
    }

    private static byte[] answer(RecordedReply reply) throws Exception {
        try {
            return BatchingBench.bytes(reply);
        } catch (ExecutionException e) {
            assertThat(reply.failure().code()).isEqualTo(ErrorCode.OVERLOADED);
            return new byte[0];
        }
    }

    private void overGrpc(boolean typed) throws Exception {
        try (RowServer server = new RowServer();
                BatchingBench bench = BatchingBench.overGrpc(server.endpoint())) {
            boolean failed = true;
            for (int round = 0; failed; round++) {
                List<RecordedReply> replies = new ArrayList<>();
                replies.add(bench.send(request(1, false).toByteArray()));
                RowServer.HeldRequest first = server.next();
                memory.failAfter(round);
                ModelInferRequest one = request(1, typed);
                ModelInferRequest two = request(2, typed);
                replies.add(bench.send(one.toByteArray(), this::scarce));
                replies.add(bench.send(two.toByteArray(), this::scarce));
                bench.settle();
                first.answer();
                while (!ended(replies)) {
                    await().atMost(PATIENCE).until(() -> !server.idle() || ended(replies));
                    if (!server.idle()) {
                        server.next().answer();
                    }
                }
                failed = memory.failed();
                replies.getFirst().response().release();
                assertThat(answer(replies.get(1)))
                        .isIn(new byte[0], RowServer.answer(one).toByteArray());
                assertThat(answer(replies.get(2)))
                        .isIn(new byte[0], RowServer.answer(two).toByteArray());
                awaitNothingHeld();
            }
            assertThat(bench.calls()).isPositive();
        }
    }

    @Test
    void rawContents() throws Exception {
        overGrpc(false);
    }

    @Test
    void typedContents() throws Exception {
        overGrpc(true);
    }

    private static String json(String name, int rows) {
        return "{\"id\":\"" + name + "\",\"inputs\":[{\"name\":\"X\",\"datatype\":\"INT64\",\"shape\":[" + rows
                + "],\"data\":[" + "1,".repeat(rows - 1) + "1]}]}";
    }

    @Test
    void json() throws Exception {
        Semaphore answers = new Semaphore(0);
        FakeRestServer server = FakeRestServer.that((request, out) -> {
            answers.acquireUninterruptibly();
            FakeRestServer.write(out, FakeRestServer.ok(request.body().replace("\"inputs\"", "\"outputs\"")));
            return true;
        });
        try (server;
                BatchingBench bench = BatchingBench.overRest(server.endpoint())) {
            boolean failed = true;
            for (int round = 0; failed; round++) {
                List<RecordedReply> replies = new ArrayList<>();
                replies.add(bench.send(json("id", 1).getBytes(StandardCharsets.US_ASCII)));
                server.request();
                memory.failAfter(round);
                replies.add(bench.send(json("id", 2).getBytes(StandardCharsets.US_ASCII), this::scarce));
                replies.add(bench.send(json("id", 3).getBytes(StandardCharsets.US_ASCII), this::scarce));
                bench.settle();
                // More than are sent.
                answers.release(4);
                await().atMost(PATIENCE).until(() -> ended(replies));
                failed = memory.failed();
                for (RecordedReply each : replies) {
                    answer(each);
                }
                answers.drainPermits();
                awaitNothingHeld();
            }
            assertThat(bench.calls()).isPositive();
        }
    }

    @Test
    void upstreamThatThrows_endsAll_andLeavesNothing() throws Exception {
        FakeUpstream upstream = new FakeUpstream();
        MemoryBudget budget = new MemoryBudget(1 << 20, new SimpleMeterRegistry());
        try (UpstreamBench bench = new UpstreamBench();
                RouteBatching batching = new RouteBatching(
                        "route",
                        new BatchingConfig(32, 10_000_000, 1 << 20),
                        WireLimits.DEFAULT,
                        budget,
                        new SimpleMeterRegistry(),
                        () -> 0)) {
            List<RecordedReply> replies = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                replies.add(send(bench, batching, upstream));
            }
            bench.loop()
                    .submit(() -> {
                        upstream.broken = true;
                        upstream.only().respond();
                    })
                    .get();
            replies.getFirst().response().release();
            assertThat(replies.get(1).failure().code()).isEqualTo(ErrorCode.INTERNAL);
            assertThat(replies.get(2).failure().code()).isEqualTo(ErrorCode.INTERNAL);
            bench.loop().submit(() -> upstream.broken = false).get();
            RecordedReply next = send(bench, batching, upstream);
            bench.loop().submit(() -> upstream.last().respond()).get();
            next.response().release();
            assertThat(budget.usage().used()).isZero();
        }
    }

    private static RecordedReply send(UpstreamBench bench, RouteBatching batching, FakeUpstream upstream) {
        ByteBuf body = bench.allocator().buffer().writeBytes(request(1, false).toByteArray());
        return bench.send(reply -> batching.send(
                upstream,
                bench.call(),
                new UpstreamRequest.InferenceRequest(BatchingBench.MODEL, new InferMessage.ProtobufMessage(body)),
                reply));
    }
}
