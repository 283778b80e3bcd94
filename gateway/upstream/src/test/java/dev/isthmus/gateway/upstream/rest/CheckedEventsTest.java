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
import io.netty.buffer.Unpooled;
import io.netty.channel.DefaultEventLoop;
import java.nio.charset.StandardCharsets;
import java.util.List;
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
    private class Client implements Reply {
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

    private CheckedEvents events(Reply client) {
        Call call =
                new Call(new Operation.ServerLive(), Call.NO_DEADLINE, Map.of(), CallContext.internal(loop, ALLOCATOR));
        return new CheckedEvents(call, client, new UpstreamFailures("u", () -> false), 1000);
    }

    @Test
    void callThatEndsWhenAnEventArrives_holdsNothingOfTheNextOne() {
        CheckedEvents[] events = new CheckedEvents[1];
        events[0] = events(new Client() {
            @Override
            public void message(ReplyMessage message) {
                super.message(message);
                events[0].release();
            }
        });
        ByteBuf part = ALLOCATOR.directBuffer();
        part.writeCharSequence(EVENTS + "data: {", StandardCharsets.UTF_8);
        events[0].part(part);
        assertThat(passed).hasToString(EVENTS);
        assertThat(part.refCnt()).isZero();
    }

    /** The event is not complete: what is checked at its end must not have gone before. */
    @Test
    void lineBreakOfTwoOctets_splitBetweenThem_endsNoEvent() {
        CheckedEvents events = events(new Client());
        for (String part : List.of("data: {\"a\":\r", "\ndata: 1}\r", "\n\r")) {
            assertThat(passed).isEmpty();
            events.part(Unpooled.copiedBuffer(part, StandardCharsets.US_ASCII));
        }
        events.part(Unpooled.copiedBuffer("\n", StandardCharsets.US_ASCII));
        events.release();
        assertThat(passed).hasToString("data: {\"a\":\r\ndata: 1}\r\n\r\n");
    }

    @Test
    void sliceOfASlice_isCheckedWhereItsBytesAre() {
        CheckedEvents events = events(new Client());
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
