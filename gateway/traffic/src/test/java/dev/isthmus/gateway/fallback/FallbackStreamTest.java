package dev.isthmus.gateway.fallback;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.fallback.RouteFallback.FallbackStream;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.SelectionState;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.gateway.upstream.InferSource;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A stream to a target that fails, whose fallback, or target, throws. */
class FallbackStreamTest {
    private static final ModelRef MODEL = ModelRef.of("m");

    private final FakeUpstream main = new FakeUpstream();
    private final FakeUpstream other = new FakeUpstream();
    private final Client client = new Client();
    private final Source source = new Source();
    private final Call call = new Call(
            new Operation.Infer(MODEL, new BodyForm.RestForm(RestBody.ALL_JSON, -1, null), true),
            Call.NO_DEADLINE,
            Map.of(),
            CallContext.internal(new EmbeddedChannel().eventLoop(), UnpooledByteBufAllocator.DEFAULT));

    private static final class Client implements Reply {
        private @Nullable OipException failure;

        @Override
        public void message(ReplyMessage message) {
            message.release();
        }

        @Override
        public void complete() {}

        @Override
        public void fail(OipException reason) {
            failure = reason;
        }

        @Nullable
        ErrorCode failure() {
            return failure == null ? null : failure.code();
        }
    }

    /** An empty request, which counts its holders. */
    private static final class Source implements InferSource {
        private int holders = 1;

        @Override
        public String id() {
            return "";
        }

        @Override
        public InferRequest decoded(Upstream server, ModelRef model) {
            throw new AssertionError("it is not decoded");
        }

        @Override
        public InferMessage encoded(Upstream server, ModelRef model) {
            return new InferMessage.ProtobufMessage(Unpooled.EMPTY_BUFFER);
        }

        @Override
        public InferMessage copied(ServerFeatures server, ModelRef model) {
            throw new AssertionError("it is not copied");
        }

        @Override
        public void retain() {
            holders++;
        }

        @Override
        public void release() {
            holders--;
        }
    }

    private FallbackStream open(Upstream target) {
        ModelConfig config = TestConfigs.with(
                ModelConfig.of("main"),
                Map.of(
                        "fallback",
                        TestConfigs.with(DefaultValues.of(ModelConfig.Fallback.class), Map.of("upstream", "other"))));
        RoutingTable routes = new RoutingTable(
                Map.of("m", config),
                name -> name.equals("main") ? target : other,
                null,
                Map::of,
                SelectionState.of(System::nanoTime));
        Route route = routes.route(MODEL);
        return new FallbackStream(route, call, client).open(target, MODEL);
    }

    private UpstreamRequest.InferenceRequest request(Upstream target) {
        return new UpstreamRequest.InferenceRequest(target, MODEL, source, true);
    }

    @Test
    void failure_isTheFallbacks() {
        FallbackStream stream = open(main);
        stream.send(call, request(main), false);
        main.last().fail(ErrorCode.UNAVAILABLE, Processed.NO);
        assertThat(other.only().sent).isEqualTo(1);
        assertThat(client.failure()).isNull();
        assertThat(source.holders).isZero();
    }

    @Test
    void fallbackThatCannotBeOpened_failsTheStream_andNothingIsHeld() {
        other.broken = true;
        FallbackStream stream = open(main);
        stream.send(call, request(main), false);
        main.last().fail(ErrorCode.UNAVAILABLE, Processed.NO);
        assertThat(client.failure()).isEqualTo(ErrorCode.INTERNAL);
        assertThat(source.holders).isZero();
    }

    /** An upstream without memory for the first request of a stream. */
    private static final class Exhausted implements Upstream {
        private Reply reply = Reply.DISCARDING;

        @Override
        public String name() {
            return "exhausted";
        }

        @Override
        public ServerFeatures peer() {
            return new FakeUpstream().features;
        }

        @Override
        public Subscription send(Call call, UpstreamRequest request, Reply client) {
            throw new AssertionError("a stream is opened");
        }

        @Override
        public UpstreamStream inferStream(Call call, ModelRef model, Reply client) {
            reply = client;
            return new UpstreamStream() {
                @Override
                public void send(Call request, UpstreamRequest.InferenceRequest message, boolean emptyFinal) {
                    message.release();
                    throw new OutOfMemoryError("of memory outside the heap");
                }

                @Override
                public void end() {}

                @Override
                public boolean isReady() {
                    return true;
                }

                @Override
                public void cancel() {}
            };
        }

        @Override
        public void close() {}
    }

    /** Its sender answers it. */
    @Test
    void requestThatFoundNoMemory_isNotSentAgain() {
        Exhausted target = new Exhausted();
        FallbackStream stream = open(target);
        assertThatThrownBy(() -> stream.send(call, request(target), false)).isInstanceOf(OutOfMemoryError.class);
        assertThat(source.holders).isZero();
        target.reply.fail(new OipException(ErrorCode.UNAVAILABLE, "gone"));
        assertThat(other.requests).isEmpty();
    }
}
