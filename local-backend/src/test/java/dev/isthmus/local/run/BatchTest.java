package dev.isthmus.local.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.local.repository.ModelSettings;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Which requests share a run. The model 'turns' returns the number of rows of its run. */
class BatchTest {

    private interface Body {
        void with(LocalExecutor executor, OnnxModel model) throws Exception;
    }

    /** Runs with one thread and one model, all references to which must be released at the end. */
    private static void on(String name, ModelSettings settings, Body body) throws Exception {
        OnnxModel model = Runs.model(name, settings);
        try (LocalExecutor executor = new LocalExecutor(1, 64)) {
            body.with(executor, model);
        }
        model.release();
        assertThat(Runs.unused(model)).isTrue();
    }

    private static Outcome endless(LocalExecutor executor, OnnxModel model) throws InterruptedException {
        Outcome running = Runs.submit(executor, model, Runs.turns(Runs.ENDLESS));
        running.awaitBegun();
        return running;
    }

    @Test
    void requests_thatWait_shareARun_andEachGetsItsRows() throws Exception {
        on("turns", Runs.batches(8), (executor, model) -> {
            Outcome running = endless(executor, model);
            Outcome one = Runs.submit(executor, model, Runs.turns(5));
            Outcome two = Runs.submit(executor, model, Runs.turns(3, 6));
            Outcome three = Runs.submit(executor, model, Runs.turns(4));
            running.cancel();
            Outcome.Response first = one.response();
            assertThat(first.longs("SAME")).containsExactly(5);
            assertThat(first.longs("ROWS")).containsExactly(4);
            assertThat(first.tensor("SAME").shape()).isEqualTo(Shape.of(1, 1));
            first.response().release();
            Outcome.Response second = two.response();
            assertThat(second.longs("SAME")).containsExactly(3, 6);
            assertThat(second.longs("ROWS")).containsExactly(4, 4);
            assertThat(second.tensor("SAME").shape()).isEqualTo(Shape.of(2, 1));
            assertThat(second.response().id()).isEqualTo("id");
            second.response().release();
            assertThat(three.response("SAME")).containsExactly(4);
        });
    }

    @Test
    void batch_hasAtMostAsManyRowsAsConfigured() throws Exception {
        on("turns", Runs.batches(4), (executor, model) -> {
            Outcome running = endless(executor, model);
            Outcome three = Runs.submit(executor, model, Runs.turns(1, 2, 3));
            Outcome two = Runs.submit(executor, model, Runs.turns(4, 5));
            Outcome one = Runs.submit(executor, model, Runs.turns(6));
            Outcome five = Runs.submit(executor, model, Runs.turns(1, 2, 3, 4, 5));
            running.cancel();
            assertThat(three.response("ROWS")).containsOnly(4);
            assertThat(one.response("ROWS")).containsOnly(4);
            assertThat(two.response("ROWS")).containsOnly(2);
            assertThat(five.response("ROWS")).hasSize(5).containsOnly(5);
        });
    }

    @Test
    void requests_ofAModelThatMayNotJoinThem_runAlone() throws Exception {
        on("turns", Runs.settings(8, null, 0), (executor, model) -> {
            Outcome running = endless(executor, model);
            Outcome one = Runs.submit(executor, model, Runs.turns(2));
            Outcome two = Runs.submit(executor, model, Runs.turns(3, 6));
            running.cancel();
            assertThat(one.response("ROWS")).containsExactly(1);
            assertThat(two.response("ROWS")).containsExactly(2, 2);
        });
    }

    @Test
    void requests_forOtherOutputs_doNotShareARun() throws Exception {
        on("turns", Runs.batches(8), (executor, model) -> {
            Outcome running = endless(executor, model);
            Outcome all = Runs.submit(executor, model, Runs.turns(1));
            Outcome rows = Runs.submit(executor, model, Runs.turns(List.of("ROWS"), 2));
            Outcome rowsToo = Runs.submit(executor, model, Runs.turns(List.of("ROWS"), 3));
            running.cancel();
            assertThat(all.response("ROWS")).containsExactly(1);
            assertThat(rows.response("ROWS")).containsExactly(2);
            assertThat(rowsToo.response("ROWS")).containsExactly(2);
        });
    }

    /** Their number of rows is unknown; a model that needs inputs rejects each of them. */
    @Test
    void requestsWithoutInputs_areRefused_besideOthersThatAreServed() throws Exception {
        on("turns", Runs.batches(8), (executor, model) -> {
            Outcome running = endless(executor, model);
            Outcome none = Runs.submit(executor, model, Runs.request("turns", List.of(), List.of()));
            Outcome one = Runs.submit(executor, model, Runs.turns(1));
            Outcome again = Runs.submit(executor, model, Runs.request("turns", List.of(), List.of()));
            running.cancel();
            assertThat(none.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
            assertThat(again.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
            assertThat(one.response("ROWS")).containsExactly(1);
        });
    }

    @Test
    void requests_ofOtherRows_doNotShareARun() throws Exception {
        on("identity_fp32", Runs.batches(8), (executor, model) -> {
            List<Outcome> outcomes = new ArrayList<>();
            for (int width = 1; width < 6; width++) {
                Tensor input = Runs.floats("INPUT0", Shape.of(1, width), new float[width]);
                outcomes.add(Runs.submit(executor, model, Runs.request("identity_fp32", List.of(input), List.of())));
            }
            for (int width = 1; width < 6; width++) {
                Outcome.Response answer = outcomes.get(width - 1).response();
                assertThat(answer.tensor("OUTPUT0").shape()).isEqualTo(Shape.of(1, width));
                answer.response().release();
            }
        });
    }

    /** Elements keep their lengths when they are concatenated, and are sliced by them. */
    @Test
    void bytes_areCutWhereElementsEnd() {
        OnnxModel model = Runs.model("simple", ModelSettings.DEFAULT);
        List<String> first = List.of("one", "");
        List<String> second = List.of("\ud83d\ude00", "a\0b", "", "the last");
        Batch batch = new Batch(model, List.of(strings(1, first), strings(2, second)));
        InferRequest whole = batch.gather(ByteBufAllocator.DEFAULT);
        assertThat(whole.inputs().getFirst().shape()).isEqualTo(Shape.of(3, 2));
        List<List<Tensor>> parts = batch.scatter(whole.inputs());
        whole.release();
        assertThat(parts).hasSize(2);
        assertThat(parts.get(0).getFirst().shape()).isEqualTo(Shape.of(1, 2));
        assertThat(strings(parts.get(0).getFirst())).isEqualTo(first);
        assertThat(parts.get(1).getFirst().shape()).isEqualTo(Shape.of(2, 2));
        assertThat(strings(parts.get(1).getFirst())).isEqualTo(second);
        parts.forEach(part -> part.forEach(Tensor::release));
        batch.requests().forEach(InferRequest::release);
        model.release();
    }

    @Test
    void bytes_shareARun() throws Exception {
        OnnxModel turns = Runs.model("turns", ModelSettings.DEFAULT);
        on("identity_bytes", Runs.batches(8), (executor, model) -> {
            Outcome running = endless(executor, turns);
            Outcome one = Runs.submit(executor, model, strings(1, List.of("one", "")));
            Outcome two = Runs.submit(executor, model, strings(2, List.of("\ud83d\ude00", "a\0b", "", "last")));
            running.cancel();
            Outcome.Response first = one.response();
            assertThat(strings(first.tensor("OUTPUT0"))).containsExactly("one", "");
            first.response().release();
            Outcome.Response second = two.response();
            assertThat(strings(second.tensor("OUTPUT0"))).containsExactly("\ud83d\ude00", "a\0b", "", "last");
            second.response().release();
        });
        turns.release();
    }

    private static InferRequest strings(long rows, List<String> elements) {
        ByteBuf data = ByteBufAllocator.DEFAULT.directBuffer();
        for (String element : elements) {
            byte[] text = element.getBytes(StandardCharsets.UTF_8);
            data.writeIntLE(text.length).writeBytes(text);
        }
        Tensor input = new Tensor("INPUT0", DataType.BYTES, Shape.of(rows, 2), Map.of(), data);
        return Runs.request("any", List.of(input), List.of());
    }

    private static List<String> strings(Tensor tensor) {
        ByteBuf data = tensor.data().duplicate();
        List<String> elements = new ArrayList<>();
        while (data.isReadable()) {
            elements.add(data.readCharSequence(data.readIntLE(), StandardCharsets.UTF_8)
                    .toString());
        }
        return elements;
    }

    @Test
    void requestThatFails_doesNotFailTheOthers() throws Exception {
        on("turns", Runs.batches(8), (executor, model) -> {
            Outcome running = endless(executor, model);
            Outcome good = Runs.submit(executor, model, Runs.turns(5));
            Outcome bad = Runs.submit(executor, model, Runs.turns(-5));
            Outcome better = Runs.submit(executor, model, Runs.turns(6));
            running.cancel();
            assertThat(good.response("SAME")).containsExactly(5);
            assertThat(better.response("SAME")).containsExactly(6);
            assertThat(bad.failure().message()).contains("model 'turns'");
        });
    }

    @Test
    void cancelledAndLateRequests_leaveABatch_thatGoesOnForTheOthers() throws Exception {
        on("turns", Runs.batches(8), (executor, model) -> {
            Outcome running = endless(executor, model);
            Outcome lasting = Runs.submit(executor, model, Runs.turns(Runs.ENDLESS));
            Outcome cancelled = Runs.submit(executor, model, Runs.turns(1));
            Outcome late = Runs.submit(executor, model, Runs.turns(2));
            running.cancel();
            lasting.awaitBegun();
            await().until(running::released);
            cancelled.cancel();
            late.expire();
            assertThat(cancelled.code()).isEqualTo(ErrorCode.CANCELLED);
            assertThat(late.code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
            assertThat(lasting.ended()).isFalse();
            lasting.cancel();
            assertThat(lasting.code()).isEqualTo(ErrorCode.CANCELLED);
            assertThat(Runs.submit(executor, model, Runs.turns(3)).response("ROWS"))
                    .containsExactly(1);
        });
    }

    @Test
    void cancelledInTheQueue_isNotInTheBatch() throws Exception {
        on("turns", Runs.batches(8), (executor, model) -> {
            Outcome running = endless(executor, model);
            Outcome one = Runs.submit(executor, model, Runs.turns(1));
            Outcome cancelled = Runs.submit(executor, model, Runs.turns(2));
            Outcome three = Runs.submit(executor, model, Runs.turns(3));
            cancelled.cancel();
            running.cancel();
            assertThat(one.response("ROWS")).containsExactly(2);
            assertThat(three.response("ROWS")).containsExactly(2);
        });
    }

    @Test
    void outputs_withoutTheRowsOfTheInputs_areOfSingleRuns() throws Exception {
        on("positive", Runs.batches(64), (executor, model) -> {
            List<Outcome> outcomes = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                Tensor input = Runs.floats("INPUT0", Shape.of(3), i, -1, i + 1);
                outcomes.add(Runs.submit(executor, model, Runs.request("positive", List.of(input), List.of())));
            }
            for (int i = 0; i < 40; i++) {
                Outcome.Response answer = outcomes.get(i).response();
                Tensor output = answer.tensor("OUTPUT0");
                assertThat(output.shape()).isEqualTo(Shape.of(i == 0 ? 1 : 2));
                assertThat(output.data().getFloatLE(output.data().writerIndex() - 4))
                        .isEqualTo(i + 1);
                answer.response().release();
            }
        });
    }

    @Test
    void model_whoseFirstDimensionIsNoBatch_runsSingly() throws Exception {
        OnnxModel model = Runs.model("fixed", Runs.batches(8));
        assertThat(Batching.of(model)).isNull();
        model.release();
    }

    @Test
    void model_withoutMaxBatchSize_runsSingly() throws Exception {
        on("turns", ModelSettings.DEFAULT, (executor, model) -> {
            Outcome running = endless(executor, model);
            Outcome one = Runs.submit(executor, model, Runs.turns(5));
            Outcome two = Runs.submit(executor, model, Runs.turns(5));
            running.cancel();
            assertThat(one.response("ROWS")).containsExactly(1);
            assertThat(two.response("ROWS")).containsExactly(1);
        });
    }

    @Test
    void batch_waitsForMore_untilItIsFull() throws Exception {
        on("turns", Runs.settings(3, Duration.ofHours(1), 0), (executor, model) -> {
            Outcome one = Runs.submit(executor, model, Runs.turns(1));
            Outcome two = Runs.submit(executor, model, Runs.turns(2));
            Outcome three = Runs.submit(executor, model, Runs.turns(3));
            assertThat(one.response("ROWS")).containsExactly(3);
            assertThat(two.response("ROWS")).containsExactly(3);
            assertThat(three.response("ROWS")).containsExactly(3);
        });
    }

    @Test
    void batch_waitsForMore_asLongAsConfigured() throws Exception {
        on("turns", Runs.settings(3, Duration.ofMillis(1), 0), (executor, model) -> {
            assertThat(Runs.submit(executor, model, Runs.turns(1)).response("ROWS"))
                    .containsExactly(1);
            assertThat(Runs.submit(executor, model, Runs.turns(1)).response("ROWS"))
                    .containsExactly(1);
        });
    }

    @Test
    void batchThatWaits_leftByAll_isForgotten() throws Exception {
        on("turns", Runs.settings(2, Duration.ofHours(1), 0), (executor, model) -> {
            Runs.submit(executor, model, Runs.turns(1)).cancel();
            Outcome two = Runs.submit(executor, model, Runs.turns(2));
            assertThat(two.ended()).isFalse();
            Outcome three = Runs.submit(executor, model, Runs.turns(3));
            assertThat(two.response("ROWS")).containsExactly(2);
            assertThat(three.response("ROWS")).containsExactly(2);
        });
    }

    @Test
    void manyClients_eachGetTheirOwnRows() throws Exception {
        OnnxModel model = Runs.model("simple", Runs.batches(16));
        try (LocalExecutor executor = new LocalExecutor(2, 64);
                ExecutorService clients = Executors.newFixedThreadPool(32)) {
            List<Callable<Integer>> work = IntStream.range(0, 32)
                    .<Callable<Integer>>mapToObj(client -> () -> answers(executor, model, client))
                    .toList();
            for (Future<Integer> client : clients.invokeAll(work)) {
                assertThat(client.get()).isEqualTo(50);
            }
        }
        model.release();
    }

    /** The number of correct responses. */
    private static int answers(LocalExecutor executor, OnnxModel model, int client) throws Exception {
        int right = 0;
        for (int i = 0; i < 50; i++) {
            int number = client * 1000 + i;
            Outcome.Response answer =
                    Runs.submit(executor, model, Runs.simple(number)).response();
            Tensor sum = answer.tensor("OUTPUT0");
            right += sum.data().getIntLE(sum.data().readerIndex() + 60) == 3 * number ? 1 : 0;
            answer.response().release();
        }
        return right;
    }
}
