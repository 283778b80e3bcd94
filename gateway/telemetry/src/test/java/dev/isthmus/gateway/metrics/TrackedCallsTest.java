package dev.isthmus.gateway.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Layers;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What the meters of calls say of an exchange. */
class TrackedCallsTest {
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final AtomicLong now = new AtomicLong(Long.MAX_VALUE - 5);
    private final AtomicInteger ended = new AtomicInteger();
    private final CallMetrics metrics = new CallMetrics(registry);

    /** Stands in for dispatch: records the reply, and its sink accepts everything. */
    private static final class Dispatch implements RequestSink {
        private @Nullable Reply reply;

        RequestSink open(Exchange x) {
            reply = x;
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

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final Dispatch dispatch = new Dispatch();

    private final Layer counting = new Layer() {
        @Override
        public String name() {
            return "counting";
        }

        @Override
        public void ended(Exchange x) {
            ended.incrementAndGet();
        }
    };

    private final Layers tracking = tracking(dispatch::open);

    private Layers tracking(Function<Exchange, RequestSink> handler) {
        return new Layers(List.of(metrics, counting), handler, registry, now::get);
    }

    private RequestSink open(Operation operation) {
        return tracking.open(call(operation), Reply.DISCARDING);
    }

    private Call call(Operation operation) {
        Call call = new Call(operation, Call.NO_DEADLINE, Map.of(), context());
        call.context().routed("m");
        return call;
    }

    private CallContext context() {
        return new CallContext(
                ClientProtocol.REST,
                null,
                HeaderFields.NONE,
                channel.eventLoop(),
                ByteBufAllocator.DEFAULT,
                MemoryBudget.MemoryReservation.UNCOUNTED,
                now.get());
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
    void failedCall_isTimedInItsPhases() {
        RequestSink sink = open(infer("m"));
        pass(2);
        sink.end();
        pass(30);
        dispatch.reply().fail(new OipException(ErrorCode.UNAVAILABLE, "gone"));
        assertThat(phase("read")).isEqualTo(2);
        assertThat(phase("upstream")).isEqualTo(30);
        assertThat(phase("write")).isZero();
    }

    @Test
    void callThatFailsBeforeItsRequestIsComplete_waitedForNoServer() {
        open(infer("m"));
        pass(30);
        dispatch.reply().fail(new OipException(ErrorCode.UNAVAILABLE, "gone"));
        assertThat(phase("upstream")).isZero();
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
        Layers faulty = tracking(x -> {
            throw new IllegalStateException("a fault");
        });
        faulty.open(call(infer("m")), Reply.DISCARDING);
        assertThat(ended).hasValue(1);
        assertThat(requests("m", "INTERNAL").count()).isEqualTo(1);
    }

    @Test
    void requestThatIsRefused_isACallOfNoKnownOperation() {
        tracking.reject(context(), new OipException(ErrorCode.NOT_FOUND, "nothing is here"), Reply.DISCARDING);
        Timer refused = requests(CallContext.NO_ROUTE, "NOT_FOUND");
        assertThat(refused.count()).isEqualTo(1);
        assertThat(refused.getId().getTag("operation")).isEqualTo("unknown");
        assertThat(underWay()).isZero();
        assertThat(ended).hasValue(1);
        Call health = new Call(new Operation.ServerLive(), Call.NO_DEADLINE, Map.of(), context());
        tracking.open(health, Reply.DISCARDING);
        assertThat(registry.get("isthmus.model.requests.under.way")
                        .tag("model", CallContext.NO_ROUTE)
                        .gauge()
                        .value())
                .isEqualTo(1);
    }

    @Test
    void callThatIngressEnds_isCountedByTheReason() {
        Call call = call(infer("m"));
        RequestSink sink = tracking.open(call, Reply.DISCARDING);
        call.context().failed(new OipException(ErrorCode.PAYLOAD_TOO_LARGE, "too large"));
        sink.cancel();
        assertThat(requests("m", "PAYLOAD_TOO_LARGE").count()).isEqualTo(1);
        assertThat(call.context().reason()).isEqualTo("too large");
    }
}
