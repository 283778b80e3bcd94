package dev.isthmus.gateway.dispatch;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Layers;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.dispatch.ProxyStack.InferRules;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.message.WireLimits;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Watches of gRPC's health service, which last as long as their clients like. */
class HealthWatchTest {
    private static final int MOST = 10_000;

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final Dispatcher dispatcher = new Dispatcher(
            (call, reply) -> RequestSink.ENDED,
            new InferRules(WireLimits.DEFAULT, NonFinite.TOKEN),
            new Transcoder(WireLimits.DEFAULT),
            () -> null);

    @AfterEach
    void close() {
        channel.close();
        meters.close();
    }

    private static final class States implements Reply {
        private int messages;
        private boolean complete;
        private @Nullable OipException failure;

        @Override
        public void message(ReplyMessage message) {
            messages++;
            message.release();
        }

        @Override
        public void complete() {
            complete = true;
        }

        @Override
        public void fail(OipException why) {
            failure = why;
        }
    }

    private RequestSink check(boolean watch, Reply reply) {
        Operation health = new Operation.CheckHealth(new Operation.GatewayReady(), watch);
        Call call = new Call(health, Call.NO_DEADLINE, Map.of(), channel.eventLoop(), ByteBufAllocator.DEFAULT);
        RequestSink request = new Layers(List.of(), dispatcher::open, meters, System::nanoTime).open(call, reply);
        request.end();
        return request;
    }

    private void expectWatched() {
        States states = new States();
        check(true, states);
        assertThat(states.messages).isEqualTo(1);
        assertThat(states.failure).isNull();
    }

    private void expectRefused() {
        States states = new States();
        check(true, states);
        assertThat(states.messages).isZero();
        assertThat(requireNonNull(states.failure).code()).isEqualTo(ErrorCode.UNAVAILABLE);
    }

    @Test
    void watches_areLimited_andChecksAreNot() {
        List<RequestSink> watches = new ArrayList<>();
        for (int i = 0; i < MOST; i++) {
            watches.add(check(true, new States()));
        }
        expectRefused();
        States checked = new States();
        check(false, checked);
        assertThat(checked.complete).isTrue();
        watches.getFirst().cancel();
        watches.getFirst().cancel();
        expectWatched();
        expectRefused();
    }
}
