package dev.isthmus.gateway.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Requests and bodies that wait for a decision. */
class HeldRequestTest {
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final CompletableFuture<Boolean> undecided = new CompletableFuture<>();
    private final List<String> events = new ArrayList<>();

    private final RequestSink opened = new RequestSink() {
        @Override
        public void data(ByteBuf chunk) {
            events.add(chunk.toString(StandardCharsets.UTF_8));
            chunk.release();
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

    private final Reply reply = new Reply() {
        @Override
        public void message(ReplyMessage message) {
            message.release();
        }

        @Override
        public void complete() {
            events.add("complete");
        }

        @Override
        public void fail(OipException failure) {
            events.add(failure.message());
        }

        @Override
        public void onReady() {
            events.add("ready");
        }
    };

    private RequestSink held() {
        return HeldRequest.of(undecided, channel.eventLoop(), reply, () -> {
            events.add("open");
            return opened;
        });
    }

    private static ByteBuf text(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.UTF_8);
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private void admit() {
        undecided.complete(true);
        channel.runPendingTasks();
    }

    private void refuse() {
        undecided.completeExceptionally(new OipException(ErrorCode.RESOURCE_EXHAUSTED, "too many"));
        channel.runPendingTasks();
    }

    @Test
    void admitted_getsAllInOrder() {
        RequestSink held = held();
        held.data(text("a"));
        held.data(text("bc"));
        held.end();
        assertThat(held.isReady()).isFalse();
        assertThat(held.held()).isEqualTo(3);
        assertThat(events).isEmpty();
        admit();
        assertThat(events).containsExactly("open", "a", "bc", "end");
    }

    @Test
    void admittedBeforeItIsComplete_isReadOn() {
        RequestSink held = held();
        held.data(text("a"));
        admit();
        held.data(text("b"));
        held.end();
        assertThat(events).containsExactly("open", "a", "ready", "b", "end");
        assertThat(held.isReady()).isTrue();
    }

    @Test
    void refused_failsOnce_andReleases() {
        RequestSink held = held();
        ByteBuf before = text("a");
        held.data(before);
        refuse();
        assertThat(events).containsExactly("too many");
        assertThat(before.refCnt()).isZero();
        ByteBuf after = text("b");
        held.data(after);
        held.end();
        held.cancel();
        assertThat(after.refCnt()).isZero();
        assertThat(events).containsExactly("too many");
    }

    @Test
    void cancelled_isNeverOpened() {
        RequestSink held = held();
        ByteBuf part = text("a");
        held.data(part);
        held.cancel();
        admit();
        assertThat(part.refCnt()).isZero();
        assertThat(events).isEmpty();
    }

    @Test
    void decided_opensAtOnce() {
        assertThat(HeldRequest.of(null, channel.eventLoop(), reply, () -> opened))
                .isSameAs(opened);
    }

    @Test
    void body_isSentWhenAdmitted() {
        HeldBody.of(undecided, channel.eventLoop(), text("a"), this::send, reply::fail);
        assertThat(events).isEmpty();
        admit();
        assertThat(events).containsExactly("sent a");
    }

    @Test
    void body_refused_isReleased() {
        ByteBuf body = text("a");
        HeldBody.of(undecided, channel.eventLoop(), body, this::send, reply::fail);
        refuse();
        assertThat(events).containsExactly("too many");
        assertThat(body.refCnt()).isZero();
    }

    @Test
    void body_cancelled_isReleased() {
        ByteBuf body = text("a");
        HeldBody.of(undecided, channel.eventLoop(), body, this::send, reply::fail)
                .cancel();
        admit();
        assertThat(events).isEmpty();
        assertThat(body.refCnt()).isZero();
    }

    private Subscription send(ByteBuf body) {
        events.add("sent " + body.toString(StandardCharsets.UTF_8));
        body.release();
        return Subscription.NONE;
    }
}
