package dev.isthmus.local.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.local.call.Cancellable;
import dev.isthmus.local.call.InferCallback;
import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.local.repository.ModelSettings;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledHeapByteBuf;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Queue, permits, deadlines and cancellation, with a model that runs until it is terminated. */
class LocalExecutorTest {
    private static final Duration LONG = Duration.ofMinutes(1);
    private static final Duration SHORT = Duration.ofMillis(1);

    private OnnxModel turns;
    private OnnxModel simple;

    @BeforeEach
    void load() {
        turns = Runs.model("turns", ModelSettings.DEFAULT);
        simple = Runs.model("simple", ModelSettings.DEFAULT);
    }

    /** All references to the models were released, except the test's own. */
    @AfterEach
    void unload() {
        for (OnnxModel model : List.of(turns, simple)) {
            model.release();
            // A terminated run may still be releasing its resources.
            await().until(() -> Runs.unused(model));
        }
    }

    private Outcome endless(LocalExecutor executor) throws InterruptedException {
        Outcome running = Runs.submit(executor, turns, Runs.turns(Runs.ENDLESS));
        running.awaitBegun();
        return running;
    }

    private static void awaitEnd(CountDownLatch end) {
        try {
            end.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Takes the thread that there is beyond those of another model; the caller releases the model. */
    private static OnnxModel anotherEndless(LocalExecutor executor) throws InterruptedException {
        OnnxModel model = Runs.model("turns", ModelSettings.DEFAULT);
        Runs.submit(executor, model, Runs.turns(Runs.ENDLESS)).awaitBegun();
        return model;
    }

    @Test
    void answer_isTheModels_underTheRequestsId() throws Exception {
        try (LocalExecutor executor = new LocalExecutor(1, 1)) {
            Outcome outcome = Runs.submit(executor, simple, Runs.simple(3));
            InferResponse response = outcome.response().response();
            assertThat(response.id()).isEqualTo("id");
            assertThat(response.model()).isEqualTo(new ModelRef("simple", "1"));
            assertThat(response.outputs().getFirst().data().getIntLE(60)).isEqualTo(9);
            response.release();
        }
    }

    @Test
    void request_thatDoesNotFit_isRefusedBeforeItIsQueued() throws Exception {
        try (LocalExecutor executor = new LocalExecutor(1, 1)) {
            Outcome outcome = Runs.submit(executor, turns, Runs.simple(1));
            assertThat(outcome.ended()).isTrue();
            assertThat(outcome.released()).isTrue();
            assertThat(outcome.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
        }
    }

    @Test
    void check_thatFails_isTheRequestsFailure() throws Exception {
        ByteBuf broken = new UnpooledHeapByteBuf(UnpooledByteBufAllocator.DEFAULT, 8, 8) {
            @Override
            public int readableBytes() {
                throw new LinkageError("this is a test");
            }
        };
        Tensor input = new Tensor("COUNT", DataType.INT64, Shape.of(1, 1), Map.of(), broken);
        try (LocalExecutor executor = new LocalExecutor(1, 1)) {
            Outcome outcome = Runs.submit(executor, turns, Runs.request("turns", List.of(input), List.of()));
            assertThat(outcome.code()).isEqualTo(ErrorCode.INTERNAL);
            assertThat(outcome.released()).isTrue();
        }
    }

    @Test
    void queue_full_isRefusedAtOnce_withATimeToAskAgain() throws Exception {
        try (LocalExecutor executor = new LocalExecutor(1, 1)) {
            Outcome running = Runs.submit(executor, turns, Runs.turns(Runs.ENDLESS));
            Outcome queued = Runs.submit(executor, turns, Runs.turns(1));
            Outcome refused = Runs.submit(executor, turns, Runs.turns(1));
            assertThat(refused.ended()).isTrue();
            assertThat(refused.released()).isTrue();
            OipException failure = refused.failure();
            assertThat(failure.code()).isEqualTo(ErrorCode.OVERLOADED);
            assertThat(failure.message()).isEqualTo("the local backend: its queue of 1 requests is full");
            assertThat(failure.processed()).isEqualTo(OipException.Processed.NO);
            assertThat(failure.retryAfter()).contains(Duration.ofSeconds(1));
            running.cancel();
            assertThat(queued.response("TURNS")).containsExactly(1);
        }
    }

    @Test
    void cancelled_inTheQueue_leavesItAtOnce() throws Exception {
        try (LocalExecutor executor = new LocalExecutor(1, 1)) {
            Outcome running = endless(executor);
            Outcome queued = Runs.submit(executor, turns, Runs.turns(1));
            queued.cancel();
            assertThat(queued.ended()).isTrue();
            assertThat(queued.released()).isTrue();
            assertThat(queued.code()).isEqualTo(ErrorCode.CANCELLED);
            Outcome next = Runs.submit(executor, turns, Runs.turns(2));
            assertThat(running.ended()).isFalse();
            running.cancel();
            assertThat(next.response("TURNS")).containsExactly(2);
            assertThat(queued.calls()).isEqualTo(1);
        }
    }

    @Test
    void deadline_passedInTheQueue_leavesItAtOnce() throws Exception {
        try (LocalExecutor executor = new LocalExecutor(1, 1)) {
            Outcome running = endless(executor);
            long soon = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(1);
            Outcome queued = Runs.submit(executor, turns, Runs.turns(1), soon);
            assertThat(queued.code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
            assertThat(queued.released()).isTrue();
            Outcome next = Runs.submit(executor, turns, Runs.turns(2));
            assertThat(running.ended()).isFalse();
            running.cancel();
            assertThat(next.response("TURNS")).containsExactly(2);
        }
    }

    @Test
    void deadline_passedBefore_isNotQueued() throws Exception {
        try (LocalExecutor executor = new LocalExecutor(1, 1)) {
            Outcome late = Runs.submit(executor, turns, Runs.turns(1), System.nanoTime() - 1);
            assertThat(late.ended()).isTrue();
            assertThat(late.code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
        }
    }

    @Test
    void deadline_passedInTheRun_endsIt() throws Exception {
        try (LocalExecutor executor = new LocalExecutor(1, 1)) {
            Outcome running = endless(executor);
            running.expire();
            assertThat(running.failure())
                    .hasMessage("model 'turns': the deadline passed while the model ran")
                    .returns(ErrorCode.DEADLINE_EXCEEDED, OipException::code);
            assertThat(Runs.submit(executor, turns, Runs.turns(2)).response("TURNS"))
                    .containsExactly(2);
            assertThat(running.calls()).isEqualTo(1);
        }
    }

    @Test
    void deadline_isKeptByTheTimer() throws Exception {
        try (LocalExecutor executor = new LocalExecutor(1, 1)) {
            long soon = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(20);
            Outcome running = Runs.submit(executor, turns, Runs.turns(Runs.ENDLESS), soon);
            assertThat(running.code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
            assertThat(Runs.submit(executor, turns, Runs.turns(2)).response("TURNS"))
                    .containsExactly(2);
        }
    }

    @Test
    void cancelled_inTheRun_endsIt() throws Exception {
        try (LocalExecutor executor = new LocalExecutor(1, 1)) {
            Outcome running = endless(executor);
            running.cancel();
            assertThat(running.ended()).isTrue();
            assertThat(running.code()).isEqualTo(ErrorCode.CANCELLED);
            assertThat(Runs.submit(executor, turns, Runs.turns(2)).response("TURNS"))
                    .containsExactly(2);
            await().until(running::released);
            assertThat(running.calls()).isEqualTo(1);
        }
    }

    @Test
    void cancelled_afterTheEnd_doesNothing() throws Exception {
        try (LocalExecutor executor = new LocalExecutor(1, 1)) {
            Outcome over = Runs.submit(executor, turns, Runs.turns(1));
            assertThat(over.response("TURNS")).containsExactly(1);
            over.cancel();
            over.expire();
            assertThat(Runs.submit(executor, turns, Runs.turns(2)).response("TURNS"))
                    .containsExactly(2);
            assertThat(over.calls()).isEqualTo(1);
        }
    }

    @Test
    void cancelAndEnd_atTheSameTime_areOneEnd() throws Exception {
        List<Outcome> outcomes = new ArrayList<>();
        try (LocalExecutor executor = new LocalExecutor(2, 4000);
                ExecutorService clients = Executors.newFixedThreadPool(2)) {
            for (int i = 0; i < 2000; i++) {
                Outcome outcome =
                        Runs.submit(executor, turns, Runs.turns(i % 7), System.nanoTime() + 100_000L * (i % 5));
                clients.execute(outcome::cancel);
                outcomes.add(outcome);
            }
            for (Outcome outcome : outcomes) {
                outcome.releaseAny();
            }
        }
        for (Outcome outcome : outcomes) {
            assertThat(outcome.calls()).isEqualTo(1);
            assertThat(outcome.released()).isTrue();
        }
    }

    @Test
    void model_withAllPermitsInUse_doesNotHoldUpOthers() throws Exception {
        OnnxModel one = Runs.model("turns", Runs.instances(1));
        try (LocalExecutor executor = new LocalExecutor(2, 8)) {
            Outcome running = Runs.submit(executor, one, Runs.turns(Runs.ENDLESS));
            Outcome queued = Runs.submit(executor, one, Runs.turns(3));
            Runs.submit(executor, simple, Runs.simple(1)).release();
            Runs.submit(executor, simple, Runs.simple(2)).release();
            assertThat(queued.ended()).isFalse();
            running.cancel();
            assertThat(queued.response("TURNS")).containsExactly(3);
        } finally {
            one.release();
        }
    }

    @Test
    void model_takesItsShareOfTheQueue_andLeavesRoomForOthers() throws Exception {
        try (LocalExecutor executor = new LocalExecutor(1, 8, Duration.ZERO, LONG)) {
            executor.prepare(simple);
            endless(executor);
            OnnxModel other = anotherEndless(executor);
            List<Outcome> queued = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                queued.add(Runs.submit(executor, turns, Runs.turns(i)));
            }
            assertThat(Runs.submit(executor, turns, Runs.turns(1)).failure())
                    .hasMessage("model 'turns': 6 requests are queued, its share of the local queue of 8")
                    .returns(ErrorCode.OVERLOADED, OipException::code);
            queued.add(Runs.submit(executor, simple, Runs.simple(1)));
            queued.add(Runs.submit(executor, simple, Runs.simple(1)));
            assertThat(queued).noneMatch(Outcome::ended);
            assertThat(Runs.submit(executor, simple, Runs.simple(1)).failure())
                    .hasMessage("the local backend: its queue of 8 requests is full");
            other.release();
        }
    }

    @Test
    void onlyModel_takesTheWholeQueue() throws Exception {
        try (LocalExecutor executor = new LocalExecutor(1, 8, Duration.ZERO, LONG)) {
            endless(executor);
            for (int i = 0; i < 8; i++) {
                assertThat(Runs.submit(executor, turns, Runs.turns(i)).ended()).isFalse();
            }
            assertThat(Runs.submit(executor, turns, Runs.turns(8)).ended()).isTrue();
        }
    }

    @Test
    void onlyModel_takesTheWholeQueue_afterItWasReloaded() throws Exception {
        try (LocalExecutor executor = new LocalExecutor(1, 8, Duration.ZERO, LONG)) {
            OnnxModel before = Runs.model("turns", ModelSettings.DEFAULT);
            executor.prepare(before);
            executor.prepare(turns);
            before.release();
            endless(executor);
            for (int i = 0; i < 8; i++) {
                assertThat(Runs.submit(executor, turns, Runs.turns(i)).ended()).isFalse();
            }
        }
    }

    @Test
    void models_takeTurns() throws Exception {
        try (LocalExecutor executor = new LocalExecutor(1, 8, Duration.ZERO, LONG)) {
            Outcome running = endless(executor);
            OnnxModel another = anotherEndless(executor);
            Outcome first = Runs.submit(executor, turns, Runs.turns(1));
            Outcome endless = Runs.submit(executor, turns, Runs.turns(Runs.ENDLESS));
            Outcome other = Runs.submit(executor, simple, Runs.simple(1));
            running.cancel();
            first.release();
            other.release();
            assertThat(endless.ended()).isFalse();
            endless.cancel();
            another.release();
        }
    }

    @Test
    void model_withAllThreads_leavesOneMoreForOthers() throws Exception {
        try (LocalExecutor executor = new LocalExecutor(2, 8)) {
            List<Outcome> running = List.of(endless(executor), endless(executor));
            Outcome queued = Runs.submit(executor, turns, Runs.turns(3));
            Runs.submit(executor, simple, Runs.simple(1)).release();
            Runs.submit(executor, simple, Runs.simple(2)).release();
            assertThat(executor.busy()).isLessThanOrEqualTo(3);
            assertThat(queued.ended()).isFalse();
            running.getFirst().cancel();
            assertThat(queued.response("TURNS")).containsExactly(3);
            running.getLast().cancel();
        }
    }

    @Test
    void models_thatShareTheThreads_haveNoMore() throws Exception {
        try (LocalExecutor executor = new LocalExecutor(2, 8, SHORT, LONG)) {
            endless(executor);
            OnnxModel another = anotherEndless(executor);
            Outcome queued = Runs.submit(executor, simple, Runs.simple(1));
            assertThat(executor.busy()).isEqualTo(2);
            assertThat(queued.ended()).isFalse();
            executor.unload(another);
            queued.release();
            another.release();
        }
    }

    @Test
    void unloaded_whatRemainsAfterTheGrace_ends() throws Exception {
        try (LocalExecutor executor = new LocalExecutor(1, 4, SHORT, LONG)) {
            Outcome running = endless(executor);
            Outcome queued = Runs.submit(executor, turns, Runs.turns(Runs.ENDLESS));
            executor.unload(turns);
            for (Outcome each : List.of(running, queued)) {
                assertThat(each.failure())
                        .hasMessage("model 'turns' was unloaded")
                        .returns(ErrorCode.UNAVAILABLE, OipException::code);
                await().until(each::released);
            }
            await().until(() -> executor.busy() == 0);
        }
    }

    @Test
    void unloaded_runsMayFinish() throws Exception {
        try (LocalExecutor executor = new LocalExecutor(1, 4, LONG, LONG)) {
            Outcome running = Runs.submit(executor, turns, Runs.turns(20_000));
            running.awaitBegun();
            executor.unload(turns);
            assertThat(running.response("TURNS")).containsExactly(20_000);
        }
    }

    @Test
    void run_thatGoesOnAfterItWasTerminated_blocksItsModel_only() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        try (LocalExecutor executor = new LocalExecutor(1, 4, LONG, SHORT)) {
            assertThat(turns.retain()).isTrue();
            CountDownLatch begun = new CountDownLatch(1);
            Cancellable stuck = executor.submit(
                    turns, Runs.turns(1), Long.MAX_VALUE, ByteBufAllocator.DEFAULT, new InferCallback() {
                        @Override
                        public void started(boolean first) {
                            begun.countDown();
                            awaitEnd(end);
                        }

                        @Override
                        public void done(InferResponse response) {
                            response.release();
                        }

                        @Override
                        public void failed(OipException failure) {}
                    });
            begun.await();
            assertThat(executor.blocked(turns)).isFalse();
            stuck.cancel();
            await().until(() -> executor.blocked(turns));
            assertThat(executor.stuck()).isEqualTo(1);
            assertThat(executor.blocked(simple)).isFalse();
            Runs.submit(executor, simple, Runs.simple(1)).release();
            end.countDown();
            await().until(() -> !executor.blocked(turns));
            assertThat(Runs.submit(executor, turns, Runs.turns(2)).response("TURNS"))
                    .containsExactly(2);
        } finally {
            end.countDown();
        }
    }

    @Test
    void receiver_thatFails_doesNotEndTheThread() throws Exception {
        try (LocalExecutor executor = new LocalExecutor(1, 1)) {
            assertThat(simple.retain()).isTrue();
            executor.submit(simple, Runs.simple(1), Long.MAX_VALUE, ByteBufAllocator.DEFAULT, new InferCallback() {
                @Override
                public void done(InferResponse response) {
                    response.release();
                    throw new IllegalStateException("this is a test");
                }

                @Override
                public void failed(OipException failure) {}
            });
            Runs.submit(executor, simple, Runs.simple(1)).release();
        }
    }

    @Test
    void receivers_thatFail_leaveNoOtherRequestWaiting() throws Exception {
        LocalExecutor executor = new LocalExecutor(1, 4, SHORT, LONG);
        endless(executor);
        CountDownLatch failed = new CountDownLatch(2);
        for (int i = 0; i < 2; i++) {
            assertThat(turns.retain()).isTrue();
            executor.submit(turns, Runs.turns(1), Long.MAX_VALUE, ByteBufAllocator.DEFAULT, new InferCallback() {
                @Override
                public void done(InferResponse response) {
                    response.release();
                }

                @Override
                public void failed(OipException failure) {
                    failed.countDown();
                    throw new LinkageError("this is a test");
                }
            });
        }
        executor.close();
        failed.await();
    }

    @Test
    void run_thatFails_isThatRequestsFailure_andTheNextGoesOn() throws Exception {
        try (LocalExecutor executor = new LocalExecutor(1, 1)) {
            assertThat(Runs.submit(executor, turns, Runs.turns(-5)).failure().message())
                    .contains("model 'turns'");
            assertThat(Runs.submit(executor, turns, Runs.turns(2)).response("TURNS"))
                    .containsExactly(2);
        }
    }

    @Test
    void close_failsWhatIsQueued_andLetsRunsFinish() throws Exception {
        LocalExecutor executor = new LocalExecutor(1, 4, LONG, LONG);
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        CompletableFuture<Long> ran = new CompletableFuture<>();
        assertThat(turns.retain()).isTrue();
        executor.submit(turns, Runs.turns(3), Long.MAX_VALUE, ByteBufAllocator.DEFAULT, new InferCallback() {
            @Override
            public void started(boolean first) {
                begun.countDown();
                awaitEnd(goOn);
            }

            @Override
            public void done(InferResponse response) {
                ran.complete(new Outcome.Response(response).longs("TURNS")[0]);
                response.release();
            }

            @Override
            public void failed(OipException failure) {
                ran.completeExceptionally(failure);
            }
        });
        begun.await();
        Outcome queued = Runs.submit(executor, turns, Runs.turns(1));
        queued.whenEnded(goOn::countDown);
        executor.close();
        assertThat(queued.code()).isEqualTo(ErrorCode.UNAVAILABLE);
        assertThat(queued.released()).isTrue();
        assertThat(ran).isCompletedWithValue(3L);
    }

    @Test
    void close_endsRunsThatOutlastItsPatience() throws Exception {
        LocalExecutor executor = new LocalExecutor(2, 4, SHORT, LONG);
        Outcome running = endless(executor);
        executor.close();
        assertThat(running.code()).isEqualTo(ErrorCode.UNAVAILABLE);
        await().until(running::released);
    }

    @Test
    void closed_takesNothing_andMayBeClosedAgain() throws Exception {
        LocalExecutor executor = new LocalExecutor(1, 4);
        executor.close();
        executor.close();
        Outcome late = Runs.submit(executor, simple, Runs.simple(1));
        assertThat(late.code()).isEqualTo(ErrorCode.UNAVAILABLE);
        assertThat(late.released()).isTrue();
    }

    @Test
    void close_underLoad_endsEveryRequest() throws Exception {
        List<Outcome> outcomes = new ArrayList<>();
        try (LocalExecutor executor = new LocalExecutor(2, 1000)) {
            for (int i = 0; i < 400; i++) {
                outcomes.add(Runs.submit(executor, simple, Runs.simple(i)));
            }
            outcomes.getFirst().response();
        }
        for (Outcome outcome : outcomes) {
            assertThat(outcome.ended()).isTrue();
            outcome.releaseAny();
            assertThat(outcome.calls()).isEqualTo(1);
        }
    }
}
