package dev.isthmus.gateway.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.json.JsonCheck;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class PassThroughBodyTest {
    /** A reply that nothing is sent to. */
    private record NoReply() implements Reply {
        @Override
        public void headers(Map<String, String> headers) {
            throw new AssertionError(headers);
        }

        @Override
        public void message(ReplyMessage response) {
            throw new AssertionError(response);
        }

        @Override
        public void complete() {
            throw new AssertionError("complete");
        }

        @Override
        public void fail(OipException failure) {
            throw new AssertionError(failure);
        }
    }

    private static ByteBuf bytes(String text) {
        return ByteBufAllocator.DEFAULT.directBuffer().writeBytes(text.getBytes(StandardCharsets.US_ASCII));
    }

    @Test
    void body_inPartsOfOneByte_hasFewParts() {
        String json = "{\"text_input\":\"" + "x".repeat(50_000) + "\"}";
        List<Integer> parts = new ArrayList<>();
        PassThroughBody body = new PassThroughBody(
                ByteBufAllocator.DEFAULT, JsonCheck.passed(WireLimits.DEFAULT), new NoReply(), all -> {
                    assertThat(all.toString(StandardCharsets.US_ASCII)).isEqualTo(json);
                    parts.add(all.nioBufferCount());
                    all.release();
                    return Subscription.NONE;
                });
        for (int i = 0; i < json.length(); i++) {
            body.data(bytes(json.substring(i, i + 1)));
        }
        body.end();
        assertThat(parts).hasSize(1).allMatch(count -> count < 100);
    }

    @Test
    void names_thatAreOpen_countAsHeld() {
        StringBuilder json = new StringBuilder("{");
        for (int i = 0; i < 1000; i++) {
            json.append("\"").append(i).append("\":0,");
        }
        PassThroughBody body = new PassThroughBody(
                ByteBufAllocator.DEFAULT, JsonCheck.passed(WireLimits.DEFAULT), new NoReply(), all -> {
                    all.release();
                    return Subscription.NONE;
                });
        body.data(bytes(json.toString()));
        assertThat(body.held()).isGreaterThan(json.length() + 100_000);
        body.cancel();
        assertThat(body.held()).isZero();
    }

    @Test
    void cancelledWhileTheQueryIsStarted_cancelsTheQuery() {
        AtomicReference<RequestSink> sink = new AtomicReference<>();
        AtomicInteger cancelled = new AtomicInteger();
        sink.set(new PassThroughBody(ByteBufAllocator.DEFAULT, null, new NoReply(), all -> {
            all.release();
            sink.get().cancel();
            return cancelled::incrementAndGet;
        }));
        sink.get().end();
        assertThat(cancelled).hasValue(1);
        sink.set(new EmptyBodySink(new NoReply(), () -> {
            sink.get().cancel();
            return cancelled::incrementAndGet;
        }));
        sink.get().end();
        assertThat(cancelled).hasValue(2);
    }
}
