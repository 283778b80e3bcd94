package dev.isthmus.gateway.batching;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.settings.BatchingConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.transcoder.message.Wire;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class JoinedOverGrpcTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private RowServer server;
    private BatchingBench bench;

    @BeforeEach
    void open() throws Exception {
        server = new RowServer();
        bench = BatchingBench.overGrpc(server.endpoint());
    }

    @AfterEach
    void nothingIsHeld() {
        bench.close();
        server.close();
    }

    private static ModelInferRequest request(String id, String... rows) {
        StringBuilder content = new StringBuilder();
        for (String row : rows) {
            content.append((row + "        ").substring(0, 8));
        }
        ModelInferRequest.Builder request =
                ModelInferRequest.newBuilder().setModelName("m").setId(id);
        request.addInputsBuilder()
                .setName("IN")
                .setDatatype("UINT8")
                .addShape(rows.length)
                .addShape(8);
        return request.addRawInputContents(ByteString.copyFromUtf8(content.toString()))
                .build();
    }

    private RecordedReply send(ModelInferRequest request) {
        return bench.send(request.toByteArray());
    }

    private static void assertAlone(RecordedReply reply, ModelInferRequest request) throws Exception {
        assertThat(BatchingBench.bytes(reply))
                .isEqualTo(RowServer.answer(request).toByteArray());
    }

    /** A request that is sent at once: others wait for it. */
    private RowServer.HeldRequest first(List<RecordedReply> replies) throws Exception {
        replies.add(send(request("first", "0")));
        return server.next();
    }

    @Test
    void requestsThatWait_areOneCall_andAnsweredAsAlone() throws Exception {
        List<RecordedReply> replies = new ArrayList<>();
        RowServer.HeldRequest first = first(replies);
        ModelInferRequest one = request("one", "a", "b");
        ModelInferRequest two = request("two", "c");
        replies.add(send(one));
        replies.add(send(two));
        bench.settle();
        assertThat(server.idle()).isTrue();
        first.answer();
        RowServer.HeldRequest joined = server.next();
        assertThat(joined.rows()).isEqualTo(3);
        joined.answer();
        assertAlone(replies.get(0), request("first", "0"));
        assertAlone(replies.get(1), one);
        assertAlone(replies.get(2), two);
        assertThat(bench.calls()).isEqualTo(1);
        assertThat(bench.requests("joined")).isEqualTo(2);
        assertThat(bench.requests("alone")).isEqualTo(1);
        assertThat(bench.waits()).isEqualTo(2);
    }

    /** All datatypes, raw and typed, of several kinds at once, from several event loops. */
    @Test
    void randomRequests_areAnsweredAsAlone() throws Exception {
        RandomRequests random = new RandomRequests(20_261_126);
        for (int round = 0; round < 40; round++) {
            List<RecordedReply> replies = new ArrayList<>();
            RowServer.HeldRequest first = first(replies);
            List<ModelInferRequest> requests = new ArrayList<>();
            for (int i = 0; i < 9; i++) {
                requests.add(random.next());
                replies.add(send(requests.getLast()));
            }
            bench.settle();
            first.answer();
            while (!replies.stream().allMatch(RecordedReply::ended)) {
                await().atMost(PATIENCE)
                        .until(() -> !server.idle() || replies.stream().allMatch(RecordedReply::ended));
                if (!server.idle()) {
                    server.next().answer();
                }
            }
            assertAlone(replies.getFirst(), request("first", "0"));
            for (int i = 0; i < requests.size(); i++) {
                assertAlone(replies.get(i + 1), requests.get(i));
            }
            random.other();
        }
        assertThat(bench.calls()).isGreaterThan(40);
        assertThat(bench.separated("failed")).isZero();
        assertThat(bench.separated("rows")).isZero();
    }

    @Test
    void fullBatch_isNotDelayed() throws Exception {
        List<RecordedReply> replies = new ArrayList<>();
        RowServer.HeldRequest first = first(replies);
        for (int i = 0; i < 16; i++) {
            replies.add(send(request("", "a", "b")));
        }
        RowServer.HeldRequest full = server.next();
        assertThat(full.rows()).isEqualTo(32);
        full.answer();
        first.answer();
        for (RecordedReply each : replies) {
            each.response().release();
        }
    }

    @Test
    void requestsThatDoNotFit_areTheNextCall() throws Exception {
        List<RecordedReply> replies = new ArrayList<>();
        RowServer.HeldRequest first = first(replies);
        String[] twenty = new String[20];
        Arrays.fill(twenty, "r");
        replies.add(send(request("", twenty)));
        replies.add(send(request("", twenty)));
        RowServer.HeldRequest alone = server.next();
        assertThat(alone.rows()).isEqualTo(20);
        alone.answer();
        first.answer();
        server.next().answer();
        for (RecordedReply each : replies) {
            each.response().release();
        }
    }

    @Test
    void delay_endsTheWait() throws Exception {
        bench.close();
        bench = new BatchingBench(new BatchingConfig(32, 1000, 1 << 20), server.endpoint(), Wire.PROTOBUF);
        List<RecordedReply> replies = new ArrayList<>();
        RowServer.HeldRequest first = first(replies);
        replies.add(send(request("one", "a")));
        server.next().answer();
        assertAlone(replies.get(1), request("one", "a"));
        first.answer();
        replies.getFirst().response().release();
    }

    @Test
    void otherParametersIdsAndShapes_areCallsOfTheirOwn() throws Exception {
        List<RecordedReply> replies = new ArrayList<>();
        RowServer.HeldRequest first = first(replies);
        ModelInferRequest plain = request("x", "a");
        List<ModelInferRequest> requests = List.of(
                plain,
                plain.toBuilder()
                        .putParameters(
                                "priority",
                                InferParameter.newBuilder().setInt64Param(1).build())
                        .build(),
                plain.toBuilder().setId("").build(),
                plain.toBuilder()
                        .setInputs(
                                0,
                                plain.getInputs(0).toBuilder()
                                        .clearShape()
                                        .addShape(1)
                                        .addShape(2)
                                        .addShape(4))
                        .build(),
                plain.toBuilder()
                        .addOutputs(ModelInferRequest.InferRequestedOutputTensor.newBuilder()
                                .setName("OUT_IN"))
                        .build());
        for (ModelInferRequest each : requests) {
            replies.add(send(each));
        }
        bench.settle();
        first.answer();
        replies.getFirst().response().release();
        for (int i = 0; i < requests.size(); i++) {
            RowServer.HeldRequest next = server.next();
            assertThat(next.rows()).isEqualTo(1);
            next.answer();
        }
        for (int i = 0; i < requests.size(); i++) {
            assertAlone(replies.get(i + 1), requests.get(i));
        }
        assertThat(bench.calls()).isZero();
    }

    @Test
    void otherHeaders_areCallsOfTheirOwn_exceptThoseOfOneRequest() throws Exception {
        List<RecordedReply> replies = new ArrayList<>();
        RowServer.HeldRequest first = first(replies);
        byte[] request = request("", "a").toByteArray();
        replies.add(bench.send(request, call -> call.withHeaders(Map.of("x-user", "a", "x-request-id", "1"))));
        replies.add(bench.send(request, call -> call.withHeaders(Map.of("x-user", "a", "x-request-id", "2"))));
        replies.add(bench.send(request, call -> call.withHeaders(Map.of("x-user", "b"))));
        bench.settle();
        first.answer();
        RowServer.HeldRequest one = server.next();
        RowServer.HeldRequest two = server.next();
        assertThat(List.of(one.rows(), two.rows())).containsExactlyInAnyOrder(2L, 1L);
        one.answer();
        two.answer();
        for (RecordedReply each : replies) {
            each.response().release();
        }
    }

    @Test
    void poisonedRequest_failsAlone() throws Exception {
        List<RecordedReply> replies = new ArrayList<>();
        RowServer.HeldRequest first = first(replies);
        replies.add(send(request("one", "a")));
        replies.add(send(request("two", "poison")));
        replies.add(send(request("three", "c")));
        bench.settle();
        first.answer();
        replies.getFirst().response().release();
        server.next().answer();
        for (int i = 0; i < 3; i++) {
            server.next().answer();
        }
        assertAlone(replies.get(1), request("one", "a"));
        assertThat(replies.get(2).failure().code()).isEqualTo(ErrorCode.INTERNAL);
        assertAlone(replies.get(3), request("three", "c"));
        assertThat(bench.separated("failed")).isEqualTo(1);
    }

    /** Only one of them may be the cause, whatever the model calls it. */
    @ParameterizedTest
    @EnumSource(
            value = Status.Code.class,
            names = {"OK", "CANCELLED", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "UNAVAILABLE"},
            mode = EnumSource.Mode.EXCLUDE)
    void failureOfOne_isNotThatOfOthers(Status.Code code) throws Exception {
        List<RecordedReply> replies = new ArrayList<>();
        joined(replies).fail(code.toStatus().withDescription("row 2 is refused"));
        Map<String, RowServer.HeldRequest> singles = new HashMap<>();
        for (int i = 0; i < 2; i++) {
            RowServer.HeldRequest single = server.next();
            singles.put(single.request().getId(), single);
        }
        Objects.requireNonNull(singles.get("one")).answer();
        Objects.requireNonNull(singles.get("two")).fail(code.toStatus().withDescription("row 2 is refused"));
        assertAlone(replies.get(1), request("one", "a"));
        assertThat(replies.get(2).failure().message()).isEqualTo("row 2 is refused");
    }

    @ParameterizedTest
    @EnumSource(
            value = Status.Code.class,
            names = {"RESOURCE_EXHAUSTED", "UNAVAILABLE"})
    void overloadedServer_getsNoFurtherCalls_andItsTextIsForNobody(Status.Code code) throws Exception {
        List<RecordedReply> replies = new ArrayList<>();
        joined(replies).fail(code.toStatus().withDescription("the queue of user 7 is full"));
        for (RecordedReply each : replies.subList(1, 3)) {
            assertThat(each.failure().code()).isEqualTo(ErrorCode.valueOf(code.name()));
            assertThat(each.failure().message())
                    .isEqualTo("the server answered " + code + " to a call of several clients' requests");
        }
        assertThat(server.idle()).isTrue();
    }

    @Test
    void cancelWhileWaiting_leavesTheOthers() throws Exception {
        List<RecordedReply> replies = new ArrayList<>();
        RowServer.HeldRequest first = first(replies);
        replies.add(send(request("one", "a")));
        replies.add(send(request("two", "b")));
        replies.add(send(request("three", "c")));
        bench.settle();
        replies.get(1).cancel();
        first.answer();
        RowServer.HeldRequest joined = server.next();
        assertThat(joined.rows()).isEqualTo(2);
        joined.answer();
        replies.getFirst().response().release();
        assertAlone(replies.get(2), request("two", "b"));
        assertAlone(replies.get(3), request("three", "c"));
        assertThat(replies.get(1).ended()).isFalse();
    }

    /** Two requests that are at the server in one call. */
    private RowServer.HeldRequest joined(List<RecordedReply> replies) throws Exception {
        RowServer.HeldRequest first = first(replies);
        replies.add(send(request("one", "a")));
        replies.add(send(request("two", "b")));
        bench.settle();
        first.answer();
        replies.getFirst().response().release();
        RowServer.HeldRequest joined = server.next();
        assertThat(joined.rows()).isEqualTo(2);
        return joined;
    }

    @Test
    void cancelOfASentRequest_dropsItsPart() throws Exception {
        List<RecordedReply> replies = new ArrayList<>();
        RowServer.HeldRequest joined = joined(replies);
        replies.get(1).cancel();
        joined.answer();
        assertAlone(replies.get(2), request("two", "b"));
        assertThat(replies.get(1).ended()).isFalse();
    }

    @Test
    void cancelOfAllRequests_cancelsTheCall() throws Exception {
        List<RecordedReply> replies = new ArrayList<>();
        joined(replies);
        replies.get(1).cancel();
        replies.get(2).cancel();
        server.server.awaitCancelled();
        RecordedReply next = send(request("three", "c"));
        server.next().answer();
        assertAlone(next, request("three", "c"));
    }

    @Test
    void deadlineOfOne_doesNotEndTheOthers() throws Exception {
        bench.close();
        bench = new BatchingBench(new BatchingConfig(2, 1_000_000, 1 << 20), server.endpoint(), Wire.PROTOBUF);
        List<RecordedReply> replies = new ArrayList<>();
        RowServer.HeldRequest first = first(replies);
        long deadline = System.nanoTime() + Duration.ofMillis(2500).toNanos();
        replies.add(bench.send(request("one", "a").toByteArray(), call -> call.withDeadline(deadline)));
        replies.add(send(request("two", "b")));
        RowServer.HeldRequest joined = server.next();
        assertThat(joined.rows()).isEqualTo(2);
        assertThat(replies.get(1).failure().code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
        joined.answer();
        assertAlone(replies.get(2), request("two", "b"));
        first.answer();
        replies.getFirst().response().release();
    }

    @Test
    void responseWithoutARowForEachRow_endsBatching() throws Exception {
        List<RecordedReply> replies = new ArrayList<>();
        RowServer.HeldRequest joined = joined(replies);
        ModelInferResponse fixed = RowServer.answer(request(joined.request().getId(), "a"));
        FakeGrpcServer.respond(joined.call(), fixed.toByteArray());
        server.next().answer();
        server.next().answer();
        assertAlone(replies.get(1), request("one", "a"));
        assertAlone(replies.get(2), request("two", "b"));
        assertThat(bench.separated("rows")).isEqualTo(1);
        RecordedReply third = send(request("three", "c"));
        server.next().answer();
        assertAlone(third, request("three", "c"));
        assertThat(bench.requests("refused")).isEqualTo(1);
    }

    @Test
    void requestsThatCannotBeJoined_areSentAtOnce() throws Exception {
        List<RecordedReply> replies = new ArrayList<>();
        RowServer.HeldRequest first = first(replies);
        ModelInferRequest scalar = request("", "a").toBuilder()
                .setInputs(
                        0,
                        request("", "a").getInputs(0).toBuilder().clearShape().setDatatype("UINT64"))
                .build();
        String[] many = new String[32];
        Arrays.fill(many, "r");
        for (ModelInferRequest each : List.of(scalar, request("", many))) {
            replies.add(send(each));
            server.next().answer();
            assertAlone(replies.getLast(), each);
        }
        replies.add(bench.send(request("", "a").toByteArray(), call -> call.withAffinity(7)));
        server.next().answer();
        assertAlone(replies.getLast(), request("", "a"));
        first.answer();
        replies.getFirst().response().release();
        assertThat(bench.requests("shape")).isEqualTo(1);
        assertThat(bench.requests("size")).isEqualTo(1);
        assertThat(bench.requests("affinity")).isEqualTo(1);
    }

    @Test
    void lostServer_failsAll() throws Exception {
        List<RecordedReply> replies = new ArrayList<>();
        first(replies);
        replies.add(send(request("one", "a")));
        replies.add(send(request("two", "b")));
        bench.settle();
        server.server.stop();
        for (RecordedReply each : replies) {
            assertThat(each.failure().code()).isEqualTo(ErrorCode.UNAVAILABLE);
        }
    }
}
