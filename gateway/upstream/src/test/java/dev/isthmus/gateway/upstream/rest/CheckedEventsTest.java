package dev.isthmus.gateway.upstream.rest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.DefaultEventLoop;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class CheckedEventsTest {
    private static final String EVENTS = "data: {\"text_output\":\"a\"}\n\ndata: {\"text_output\":\"b\"}\n\n";

    /** The gateway's allocator: its slices have their own implementation of slices and duplicates. */
    private static final PooledByteBufAllocator ALLOCATOR = new PooledByteBufAllocator(true);

    private final DefaultEventLoop loop = new DefaultEventLoop();
    private final StringBuilder passed = new StringBuilder();

    /** Records the events that are passed on. */
    private final class Client implements Reply {
        @Override
        public void message(ReplyMessage message) {
            passed.append(((ReplyMessage.Events) message).content().toString(StandardCharsets.UTF_8));
            message.release();
        }

        @Override
        public void complete() {}

        @Override
        public void fail(OipException failure) {
            throw failure;
        }
    }

    @AfterEach
    void stop() {
        loop.shutdownGracefully();
    }

    @Test
    void sliceOfASlice_isCheckedWhereItsBytesAre() {
        Call call =
                new Call(new Operation.ServerLive(), Call.NO_DEADLINE, Map.of(), CallContext.internal(loop, ALLOCATOR));
        CheckedEvents events = new CheckedEvents(call, new Client(), new UpstreamFailures("u", () -> false), 1000);
        ByteBuf read = ALLOCATOR.directBuffer();
        read.writeCharSequence("HTTP/1.1 200 OK\r\n\r\n3a\r\n" + EVENTS + "\r\n", StandardCharsets.UTF_8);
        ByteBuf chunks = read.retainedSlice(19, read.readableBytes() - 19);
        read.release();
        ByteBuf part = chunks.slice(4, EVENTS.length());
        events.part(part);
        events.end();
        events.release();
        assertThat(passed).hasToString(EVENTS);
    }
}
