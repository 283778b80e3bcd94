package dev.isthmus.gateway.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ExchangeTest {
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final List<String> events = new ArrayList<>();
    private final Call call = new Call(
            new Operation.Generate(ModelRef.of("m"), false),
            Call.NO_DEADLINE,
            Map.of(),
            channel.eventLoop(),
            ByteBufAllocator.DEFAULT);
    private final CompletableFuture<Boolean> undecided = new CompletableFuture<>();
    private @Nullable Exchange opened;
    private boolean reads = true;
    /** What the client does with a message. */
    private Runnable onMessage = () -> {};
    /** What happens when the next part was passed on. */
    private Runnable afterPart = () -> {};

    /** Records what it sees. */
    private class Recorder implements Layer {
        private final String name;

        Recorder(String name) {
            this.name = name;
        }

        void add(String event) {
            events.add(name + " " + event);
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public void began(Exchange x) {
            add("began");
        }

        @Override
        public @Nullable CompletableFuture<?> open(Exchange x) {
            add("open");
            return null;
        }

        @Override
        public void opened(Exchange x) {
            add("opened");
        }

        @Override
        public void complete(Exchange x) {
            add("complete");
        }

        @Override
        public void responding(Exchange x) {
            add("responding");
        }

        @Override
        public void targetEnded(Exchange x, @Nullable OipException failure) {
            add("target ended" + (failure == null ? "" : " " + failure.message()));
        }

        @Override
        public ReplyMessage message(Exchange x, ReplyMessage message) {
            add("message");
            return message;
        }

        @Override
        public OipException failure(Exchange x, OipException failure) {
            add("failure");
            return failure.withMessage(failure.message() + " " + name);
        }

        @Override
        public void finished(Exchange x) {
            add("finished");
        }

        @Override
        public void ended(Exchange x) {
            add("ended");
        }
    }

    /** A layer that decides later. */
    private final class Waiting implements Layer {
        private final boolean sized;

        Waiting(boolean sized) {
            this.sized = sized;
        }

        @Override
        public String name() {
            return "waiting";
        }

        @Override
        public @Nullable CompletableFuture<?> open(Exchange x) {
            return sized ? null : undecided;
        }

        @Override
        public @Nullable CompletableFuture<?> sized(Exchange x, long length) {
            return sized ? undecided : null;
        }
    }

    private final RequestSink behind = new RequestSink() {
        @Override
        public void data(ByteBuf chunk) {
            events.add(chunk.toString(StandardCharsets.UTF_8));
            chunk.release();
            Runnable then = afterPart;
            afterPart = () -> {};
            then.run();
        }

        @Override
        public void end() {
            events.add("end");
        }

        @Override
        public void cancel() {
            events.add("cancel");
        }
    };

    private final Reply client = new Reply() {
        @Override
        public void message(ReplyMessage message) {
            events.add("client message");
            message.release();
            onMessage.run();
        }

        @Override
        public void complete() {
            events.add("client complete");
        }

        @Override
        public void fail(OipException failure) {
            events.add("client " + failure.code() + " " + failure.message());
        }

        @Override
        public void onReady() {
            events.add("ready");
        }

        @Override
        public boolean isReady() {
            return reads;
        }
    };

    private Layers layers(Layer... layers) {
        Function<Exchange, RequestSink> handler = x -> {
            events.add("handler");
            opened = x;
            return behind;
        };
        return new Layers(List.of(layers), handler, meters, System::nanoTime);
    }

    private RequestSink open(Layer... layers) {
        return layers(layers).open(call, client);
    }

    private Exchange x() {
        return Objects.requireNonNull(opened);
    }

    private static ByteBuf text(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.UTF_8);
    }

    private static OipException unavailable(String message) {
        return new OipException(ErrorCode.UNAVAILABLE, message);
    }

    private double faults(String layer) {
        return meters.get("isthmus.layer.faults").tag("layer", layer).counter().count();
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private void decide() {
        undecided.complete(true);
        channel.runPendingTasks();
    }

    private void refuse() {
        undecided.completeExceptionally(new OipException(ErrorCode.RESOURCE_EXHAUSTED, "too many"));
        channel.runPendingTasks();
    }

    @Test
    void requestsPassInOrder_responsesInReverse() {
        RequestSink request = open(new Recorder("a"), new Recorder("b"));
        request.end();
        x().targeted();
        x().message(new ReplyMessage.Document(text("d")));
        x().complete();
        assertThat(events)
                .containsExactly(
                        "a began",
                        "b began",
                        "a open",
                        "b open",
                        "handler",
                        "a opened",
                        "b opened",
                        "a complete",
                        "b complete",
                        "end",
                        "b responding",
                        "a responding",
                        "b message",
                        "a message",
                        "client message",
                        "b target ended",
                        "a target ended",
                        "b finished",
                        "a finished",
                        "client complete",
                        "b ended",
                        "a ended");
    }

    @Test
    void failure_isShownAsTheLayersSay_andKeptAsItIs() {
        open(new Recorder("a"), new Recorder("b"));
        x().targeted();
        events.clear();
        x().fail(unavailable("gone"));
        x().fail(unavailable("again"));
        x().complete();
        assertThat(events)
                .containsExactly(
                        "b target ended gone",
                        "a target ended gone",
                        "b finished",
                        "a finished",
                        "b failure",
                        "a failure",
                        "client UNAVAILABLE gone b a",
                        "b ended",
                        "a ended");
        assertThat(x().context().reason()).isEqualTo("gone");
    }

    @Test
    void refusalOfALayer_isTheEnd() {
        Layer refusing = new Recorder("b") {
            @Override
            public @Nullable CompletableFuture<?> open(Exchange x) {
                throw unavailable("not now");
            }
        };
        RequestSink request = open(new Recorder("a"), refusing, new Recorder("c"));
        ByteBuf part = text("x");
        request.data(part);
        request.end();
        assertThat(part.refCnt()).isZero();
        assertThat(events)
                .contains("client UNAVAILABLE not now c b a", "a ended")
                .doesNotContain("c open", "handler", "a complete");
    }

    @Test
    void rejectedRequest_isSeenFromItsBeginToItsEnd() {
        layers(new Recorder("a")).reject(call.context(), unavailable("no"), client);
        assertThat(events)
                .containsExactly(
                        "a began", "a opened", "a finished", "a failure", "client UNAVAILABLE no a", "a ended");
    }

    @Test
    void cancelled_reportsNoTarget() {
        RequestSink request = open(new Recorder("a"));
        x().targeted();
        events.clear();
        request.cancel();
        request.cancel();
        assertThat(events).containsExactly("a finished", "cancel", "a ended");
    }

    @Test
    void cancelledAfterAnErrorInTheResponse_reportsIt() {
        RequestSink request = open(new Recorder("a"));
        x().targeted();
        x().message(new ReplyMessage.StreamError(unavailable("gone"), ""));
        events.clear();
        request.cancel();
        assertThat(events).containsExactly("a target ended gone", "a finished", "cancel", "a ended");
    }

    @Test
    void excusedTarget_isNotReported() {
        open(new Recorder("a"));
        x().targeted();
        events.clear();
        x().excuseTarget();
        x().fail(unavailable("too slow"));
        assertThat(events).containsExactly("a finished", "a failure", "client UNAVAILABLE too slow a", "a ended");
    }

    @Test
    void excusedAfterAnErrorInTheResponse_reportsThat() {
        open(new Recorder("a"));
        x().targeted();
        x().message(new ReplyMessage.StreamError(unavailable("gone"), ""));
        events.clear();
        x().excuseTarget();
        x().fail(unavailable("too slow"));
        assertThat(events).startsWith("a target ended gone", "a finished").contains("client UNAVAILABLE too slow a");
    }

    @Test
    void slowReader_doesNotExcuseAnErrorInTheResponse() {
        reads = false;
        open(new Recorder("a"));
        x().targeted();
        x().message(new ReplyMessage.StreamError(unavailable("gone"), ""));
        events.clear();
        x().fail(new OipException(ErrorCode.DEADLINE_EXCEEDED, "too late"));
        assertThat(events).startsWith("a target ended gone", "a finished");
    }

    @Test
    void fallback_leavesTheTargetOnce() {
        open(new Recorder("a"));
        x().targeted();
        events.clear();
        x().endTarget(unavailable("gone"));
        x().complete();
        assertThat(events).containsExactly("a target ended gone", "a finished", "client complete", "a ended");
    }

    /** A stream would go on only when the decision comes for which nobody waits. */
    @Test
    void refusedWhileALayerDecides_waitsNoMore() {
        Layer refusing = new Recorder("a") {
            @Override
            public @Nullable CompletableFuture<?> open(Exchange x) {
                opened = x;
                return null;
            }

            @Override
            public void data(Exchange x, ByteBuf part) {
                throw unavailable("not now");
            }
        };
        RequestSink request = open(refusing, new Waiting(true));
        x().sized(4);
        assertThat(x().isWaiting()).isTrue();
        request.data(text("part"));
        assertThat(x().isWaiting()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void decisionThatDoesNotCome_failsTheCallAtItsDeadline(boolean sized) {
        Call anHour = call.withDeadline(System.nanoTime() + TimeUnit.HOURS.toNanos(1));
        RequestSink request = layers(new Waiting(sized)).open(anHour, client);
        ByteBuf part = text("part");
        request.data(part);
        request.end();
        channel.advanceTimeBy(1, TimeUnit.HOURS);
        channel.runPendingTasks();
        assertThat(events)
                .contains("client DEADLINE_EXCEEDED the layer 'waiting' took longer than the call may")
                .doesNotContain("end");
        assertThat(part.refCnt()).isZero();
    }

    @Test
    void layerThatThrows_endsItsCallWithInternal_andIsNamed() {
        Layer broken = new Recorder("broken") {
            @Override
            public @Nullable CompletableFuture<?> open(Exchange x) {
                throw new IllegalStateException("a fault");
            }
        };
        open(broken);
        assertThat(events).contains("client INTERNAL internal error broken");
        assertThat(faults("broken")).isEqualTo(1);
    }

    @Test
    void layerThatLacksAClass_endsItsCallWithInternal_andIsNamed() {
        Layer broken = new Recorder("broken") {
            @Override
            public @Nullable CompletableFuture<?> open(Exchange x) {
                throw new NoClassDefFoundError("other/Library");
            }

            @Override
            public OipException failure(Exchange x, OipException reason) {
                throw new NoClassDefFoundError("other/Library");
            }

            @Override
            public void finished(Exchange x) {
                throw new NoClassDefFoundError("other/Library");
            }
        };
        open(broken);
        assertThat(events).contains("client INTERNAL internal error", "broken ended");
        assertThat(faults("broken")).isEqualTo(3);
    }

    @Test
    void callIsOpened_whenALayerHasDecided() {
        open(new Recorder("a"), new Waiting(false), new Recorder("b"));
        assertThat(events).containsExactly("a began", "b began", "a open");
        decide();
        assertThat(events).containsSubsequence("b open", "handler", "a opened", "b opened");
    }

    @Test
    void layerBehindOneThatDecidesLater_seesTheRequestWhenItIsOpen() {
        Layer late = new Recorder("late") {
            @Override
            public void data(Exchange x, ByteBuf part) {
                add("data " + part.toString(StandardCharsets.UTF_8));
            }
        };
        RequestSink request = open(new Waiting(false), late);
        request.data(text("a"));
        request.end();
        assertThat(events).containsExactly("late began");
        decide();
        assertThat(events)
                .containsExactly(
                        "late began",
                        "late open",
                        "handler",
                        "late data a",
                        "a",
                        "late complete",
                        "end",
                        "late opened");
    }

    @Test
    void partThatALayerRefusesLater_isReleased_andSoAreTheOthers() {
        Layer late = new Recorder("late") {
            @Override
            public void data(Exchange x, ByteBuf part) {
                throw unavailable("no");
            }
        };
        RequestSink request = open(new Waiting(false), late);
        ByteBuf first = text("a");
        ByteBuf second = text("b");
        request.data(first);
        request.data(second);
        request.end();
        decide();
        assertThat(events).contains("client UNAVAILABLE no late").doesNotContain("a", "b", "end", "late complete");
        assertThat(first.refCnt()).isZero();
        assertThat(second.refCnt()).isZero();
    }

    @Test
    void callThatIsRefusedWhileItWaits_isNotOpened() {
        open(new Recorder("a"), new Waiting(false));
        refuse();
        assertThat(events).endsWith("a ended").doesNotContain("a opened");
    }

    @Test
    void layerThatThrowsAtTheEnd_harmsNoOther() {
        Layer broken = new Recorder("broken") {
            @Override
            public void finished(Exchange x) {
                throw new IllegalStateException("a fault");
            }

            @Override
            public void ended(Exchange x) {
                throw new IllegalStateException("a fault");
            }
        };
        open(new Recorder("a"), broken, new Recorder("c"));
        events.clear();
        x().complete();
        assertThat(events).containsExactly("c finished", "a finished", "client complete", "c ended", "a ended");
        assertThat(faults("broken")).isEqualTo(2);
    }

    @Test
    void layerThatThrowsFirst_endsTheCallWhenAllHaveSeenItBegin() {
        Layer broken = new Layer() {
            @Override
            public String name() {
                return "broken";
            }

            @Override
            public void began(Exchange x) {
                throw new IllegalStateException("a fault");
            }
        };
        open(broken, new Recorder("b"));
        assertThat(events)
                .containsExactly(
                        "b began",
                        "b finished",
                        "b failure",
                        "client INTERNAL internal error b",
                        "b ended",
                        "b opened");
        assertThat(faults("broken")).isEqualTo(1);
    }

    @Test
    void layerThatThrowsWhenTheResponseBegins_endsItsCall_andNothingFollows() {
        Layer broken = new Recorder("broken") {
            @Override
            public void responding(Exchange x) {
                throw new IllegalStateException("a fault");
            }
        };
        open(broken);
        events.clear();
        ByteBuf document = text("d");
        x().message(new ReplyMessage.Document(document));
        assertThat(document.refCnt()).isZero();
        assertThat(events)
                .containsExactly(
                        "broken finished",
                        "broken failure",
                        "client INTERNAL internal error broken",
                        "broken ended",
                        "cancel");
    }

    /** Nobody else would end a call whose response does not come from an inference. */
    @Test
    void messageThatTheClientFindsNoMemoryFor_failsTheCall() {
        open(new Recorder("a"));
        onMessage = () -> {
            throw new OutOfMemoryError("direct");
        };
        x().only(new ReplyMessage.Document(text("d")));
        assertThat(events)
                .containsSubsequence(
                        "client message",
                        "a finished",
                        "client OVERLOADED out of memory for the request a",
                        "a ended",
                        "cancel")
                .doesNotContain("client complete");
    }

    @Test
    void layerWithoutMemory_harmsNoOther() {
        Layer exhausted = new Recorder("exhausted") {
            @Override
            public @Nullable CompletableFuture<?> open(Exchange x) {
                throw new OutOfMemoryError("direct");
            }

            @Override
            public void finished(Exchange x) {
                throw new OutOfMemoryError("direct");
            }
        };
        open(new Recorder("a"), exhausted);
        assertThat(events)
                .containsSubsequence("a finished", "client OVERLOADED out of memory for the request exhausted a")
                .endsWith("exhausted ended", "a ended", "a opened", "exhausted opened");
    }

    @Test
    void handlerWithoutMemory_failsTheCall() {
        Layers layers = new Layers(
                List.of(new Recorder("a")),
                x -> {
                    throw new OutOfMemoryError("direct");
                },
                meters,
                System::nanoTime);
        layers.open(call, client);
        assertThat(events).contains("a finished", "client OVERLOADED out of memory for the request a", "a ended");
    }

    @Test
    void handlerThatRefuses_failsTheCall() {
        Layers layers = new Layers(
                List.of(new Recorder("a")),
                x -> {
                    throw unavailable("closed");
                },
                meters,
                System::nanoTime);
        layers.open(call, client);
        assertThat(events).contains("client UNAVAILABLE closed a");
    }

    @Test
    void twoLayersOfOneName_areRefused() {
        assertThatThrownBy(() -> layers(new Recorder("a"), new Recorder("a")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("[a, a]");
    }

    @Test
    void admittedLater_getsAllInOrder() {
        RequestSink request = open(new Waiting(false));
        request.data(text("a"));
        request.data(text("bc"));
        request.end();
        assertThat(request.isReady()).isFalse();
        assertThat(request.held()).isEqualTo(3);
        assertThat(events).isEmpty();
        decide();
        assertThat(events).containsExactly("handler", "a", "bc", "end");
    }

    @Test
    void partThatArrivesWhileEarlierOnesArePassedOn_followsThem() {
        RequestSink request = open(new Waiting(false));
        request.data(text("a"));
        request.data(text("b"));
        afterPart = () -> request.data(text("c"));
        decide();
        assertThat(events).containsExactly("handler", "a", "b", "c", "ready");
    }

    @Test
    void requestThatCannotBePassedOnLater_failsOnce_andReleases() {
        RequestSink request = open(new Waiting(false));
        ByteBuf second = text("b");
        request.data(text("a"));
        request.data(second);
        afterPart = () -> {
            throw new OutOfMemoryError("direct");
        };
        decide();
        assertThat(events).containsExactly("handler", "a", "client OVERLOADED out of memory for the request", "cancel");
        assertThat(second.refCnt()).isZero();
    }

    @Test
    void admittedBeforeItIsComplete_isReadOn() {
        RequestSink request = open(new Waiting(false));
        request.data(text("a"));
        decide();
        request.data(text("b"));
        request.end();
        assertThat(events).containsExactly("handler", "a", "ready", "b", "end");
        assertThat(request.isReady()).isTrue();
    }

    @Test
    void refusedLater_failsOnce_andReleases() {
        RequestSink request = open(new Waiting(false));
        ByteBuf before = text("a");
        request.data(before);
        refuse();
        assertThat(events).containsExactly("client RESOURCE_EXHAUSTED too many");
        assertThat(before.refCnt()).isZero();
        ByteBuf after = text("b");
        request.data(after);
        request.end();
        request.cancel();
        assertThat(after.refCnt()).isZero();
        assertThat(events).containsExactly("client RESOURCE_EXHAUSTED too many");
    }

    @Test
    void refusedBeforeItWaits_failsOnce() {
        refuse();
        open(new Waiting(false)).end();
        assertThat(events).containsExactly("client RESOURCE_EXHAUSTED too many");
    }

    @Test
    void decisionThatFails_endsTheCallWithInternal() {
        RequestSink request = open(new Waiting(false));
        undecided.completeExceptionally(new IllegalStateException("a fault"));
        channel.runPendingTasks();
        request.end();
        assertThat(events).containsExactly("client INTERNAL internal error");
        assertThat(faults("waiting")).isEqualTo(1);
    }

    @Test
    void lengthWhoseDecisionHasFailed_endsTheCallWithInternal_andNamesTheLayer() {
        undecided.completeExceptionally(new IllegalStateException("a fault"));
        open(new Waiting(true)).end();
        assertThat(events).containsExactly("handler", "client INTERNAL internal error", "cancel");
        assertThat(faults("waiting")).isEqualTo(1);
    }

    @Test
    void cancelledWhileItWaits_isNeverOpened() {
        RequestSink request = open(new Waiting(false));
        ByteBuf part = text("a");
        request.data(part);
        request.cancel();
        decide();
        assertThat(part.refCnt()).isZero();
        assertThat(events).isEmpty();
    }

    @Test
    void body_isEndedWhenItsLengthIsAdmitted() {
        RequestSink request = open(new Waiting(true));
        request.data(text("a"));
        request.end();
        assertThat(events).containsExactly("handler", "a");
        decide();
        assertThat(events).containsExactly("handler", "a", "end");
    }

    /** As another thread may complete it, between two looks at it. */
    @Test
    void body_whoseLengthIsAdmittedMeanwhile_isEndedOnce() {
        CompletableFuture<Boolean> soon = new CompletableFuture<>() {
            @Override
            public boolean isDone() {
                boolean done = super.isDone();
                complete(true);
                return done;
            }
        };
        RequestSink request = open(new Layer() {
            @Override
            public String name() {
                return "soon";
            }

            @Override
            public CompletableFuture<?> sized(Exchange x, long length) {
                return soon;
            }
        });
        request.data(text("a"));
        request.end();
        channel.runPendingTasks();
        assertThat(events).containsExactly("handler", "a", "end");
    }

    @Test
    void lengthThatIsKnownEarly_isDecidedOnce() {
        RequestSink request = open(new Waiting(true));
        assertThat(x().sized(2)).isFalse();
        request.data(text("a"));
        decide();
        assertThat(x().sized(2)).isTrue();
        request.data(text("b"));
        request.end();
        assertThat(events).containsExactly("handler", "a", "b", "end");
    }

    @Test
    void body_refused_isCancelled() {
        RequestSink request = open(new Waiting(true));
        request.data(text("a"));
        request.end();
        refuse();
        assertThat(events).containsExactly("handler", "a", "client RESOURCE_EXHAUSTED too many", "cancel");
    }

    @Test
    void body_refusedAtOnce_isCancelled() {
        refuse();
        RequestSink request = open(new Waiting(true));
        request.data(text("a"));
        request.end();
        assertThat(events).containsExactly("handler", "a", "client RESOURCE_EXHAUSTED too many", "cancel");
    }

    @Test
    void messageOfAStream_passesTheSameLayers_andRepliesInIt() {
        open(new Recorder("a"));
        Exchange stream = x();
        events.clear();
        Exchange message = stream.ofMessage(call, own -> behind, new ForwardingReply(stream) {
            @Override
            public void complete() {
                events.add("message complete");
            }
        });
        message.open();
        message.request().data(text("m"));
        message.request().end();
        message.targeted();
        message.message(new ReplyMessage.Document(text("d")));
        message.complete();
        assertThat(events)
                .containsExactly(
                        "a open",
                        "m",
                        "a complete",
                        "end",
                        "a responding",
                        "a responding",
                        "a message",
                        "client message",
                        "a target ended",
                        "a finished",
                        "message complete");
        assertThat(stream.isFinished()).isFalse();
    }
}
