package dev.isthmus.gateway.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.call.BodyForm;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class CallMetricsTest {
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final AtomicLong now = new AtomicLong(Long.MAX_VALUE - 5);
    private final AtomicInteger ended = new AtomicInteger();
    private final CallMetrics metrics = new CallMetrics(registry, now::get);

    /** What a test does in place of dispatch: it has the reply, and the sink takes everything. */
    private static final class Dispatch implements Service, RequestSink {
        private @Nullable Reply reply;

        @Override
        public RequestSink open(Call call, Reply to) {
            reply = to;
            return this;
        }

        Reply reply() {
            if (reply == null) {
                throw new AssertionError("no call was opened");
            }
            return reply;
        }

        @Override
        public void data(ByteBuf chunk) {
            chunk.release();
        }

        @Override
        public void end() {}

        @Override
        public void cancel() {}
    }

    private static final class Client implements Reply {
        @Override
        public void message(ReplyMessage answer) {
            answer.release();
        }

        @Override
        public void complete() {}

        @Override
        public void fail(OipException failure) {}
    }

    private final Dispatch dispatch = new Dispatch();

    private RequestSink open(Operation operation) {
        return metrics.around(
                        dispatch,
                        ClientProtocol.REST,
                        model -> model.name().equals("m") ? "m" : "other",
                        ended::incrementAndGet)
                .open(
                        new Call(operation, Call.NO_DEADLINE, Map.of(), Runnable::run, ByteBufAllocator.DEFAULT),
                        new Client());
    }

    private static Operation infer(String model) {
        return new Operation.Infer(ModelRef.of(model), new BodyForm.RestForm(-1, -1, null), false);
    }

    private void pass(long millis) {
        now.addAndGet(TimeUnit.MILLISECONDS.toNanos(millis));
    }

    private Timer requests(String model, String code) {
        return registry.get("isthmus.requests")
                .tags("model", model, "code", code)
                .timer();
    }

    private double phase(String name) {
        return registry.get("isthmus.request.phase")
                .tag("phase", name)
                .functionTimer()
                .totalTime(TimeUnit.MILLISECONDS);
    }

    private double underWay() {
        return registry.get("isthmus.requests.under.way")
                .tag("protocol", "rest")
                .gauge()
                .value();
    }

    @Test
    void call_isTimedInItsPhases() {
        RequestSink sink = open(infer("m"));
        assertThat(underWay()).isEqualTo(1);
        pass(2);
        sink.data(Unpooled.copiedBuffer(new byte[7]));
        sink.end();
        pass(30);
        dispatch.reply().message(new ReplyMessage.Document(Unpooled.copiedBuffer(new byte[11])));
        pass(4);
        dispatch.reply().complete();

        assertThat(requests("m", "OK").totalTime(TimeUnit.MILLISECONDS)).isEqualTo(36);
        assertThat(phase("read")).isEqualTo(2);
        assertThat(phase("upstream")).isEqualTo(30);
        assertThat(phase("write")).isEqualTo(4);
        assertThat(registry.get("isthmus.request.bytes").functionCounter().count())
                .isEqualTo(7);
        assertThat(registry.get("isthmus.response.bytes").functionCounter().count())
                .isEqualTo(11);
        assertThat(underWay()).isZero();
        assertThat(ended).hasValue(1);
    }

    @Test
    void failure_isCountedByItsCode() {
        open(infer("m")).end();
        dispatch.reply().fail(new OipException(ErrorCode.UNAVAILABLE, "gone"));
        assertThat(requests("m", "UNAVAILABLE").count()).isEqualTo(1);
    }

    @Test
    void end_afterTheEnd_isNotCountedAgain() {
        RequestSink sink = open(infer("m"));
        sink.end();
        dispatch.reply().complete();
        dispatch.reply().fail(new OipException(ErrorCode.INTERNAL, "late"));
        sink.cancel();
        assertThat(ended).hasValue(1);
        assertThat(registry.find("isthmus.requests").timers()).singleElement().isEqualTo(requests("m", "OK"));
    }

    @Test
    void cancelled_isCountedSo() {
        open(infer("m")).cancel();
        assertThat(requests("m", "CANCELLED").count()).isEqualTo(1);
        assertThat(ended).hasValue(1);
    }

    @Test
    void fault_whileItIsOpened_endsTheCall() {
        Service faulty = metrics.around(
                (call, reply) -> {
                    throw new IllegalStateException("a fault");
                },
                ClientProtocol.REST,
                ModelRef::name,
                ended::incrementAndGet);
        Call call = new Call(infer("m"), Call.NO_DEADLINE, Map.of(), Runnable::run, ByteBufAllocator.DEFAULT);
        assertThatThrownBy(() -> faulty.open(call, new Client())).isInstanceOf(IllegalStateException.class);
        assertThat(ended).hasValue(1);
        assertThat(requests("m", "INTERNAL").count()).isEqualTo(1);
    }

    @Test
    void unlistedModels_shareOneRoute() {
        for (int i = 0; i < 50; i++) {
            open(infer("stranger" + i)).cancel();
        }
        assertThat(requests("other", "CANCELLED").count()).isEqualTo(50);
        assertThat(registry.find("isthmus.requests").timers()).hasSize(1);
    }

    @Test
    void serverQuestions_haveNoModel() {
        open(new Operation.ServerReady()).cancel();
        assertThat(requests(CallMetrics.NO_MODEL, "CANCELLED").count()).isEqualTo(1);
    }

    @Test
    void retain_takesOutTheMetersOfOtherRoutes() {
        open(infer("m")).cancel();
        open(infer("stranger")).cancel();
        RequestSink late = open(infer("m"));
        metrics.retain(Set.of("other"));
        late.end();
        dispatch.reply().complete();
        assertThat(registry.getMeters())
                .extracting(Meter::getId)
                .noneMatch(id -> "m".equals(id.getTag("model")))
                .anyMatch(id -> "other".equals(id.getTag("model")));
    }

    @Test
    void modelsThatAreFound_haveTheirOwnName_upToTheMost() {
        for (int i = 0; i < CallMetrics.MOST_NAMED; i++) {
            assertThat(metrics.named("m" + i, "default")).isEqualTo("m" + i);
        }
        assertThat(metrics.named("late", "default")).isEqualTo("default");
        assertThat(metrics.named("m7", "default")).isEqualTo("m7");
    }
}
