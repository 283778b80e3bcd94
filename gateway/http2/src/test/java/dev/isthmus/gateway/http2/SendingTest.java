package dev.isthmus.gateway.http2;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Sent frames, their order, and the memory that they are sent from. */
class SendingTest {
    /** Sets INITIAL_WINDOW_SIZE and the connection's window to their maximum. */
    private static final String NO_LIMIT = "00047fffffff";

    private final EmbeddedHttp2Connection bench =
            EmbeddedHttp2Connection.server(BothRolesTest.OPTIONS).ready();

    @AfterEach
    void close() {
        bench.close();
    }

    private Http2Stream open(int id) {
        bench.send(RawFrames.request(id, true));
        return requireNonNull(bench.request(bench.requests() - 1).stream);
    }

    private void settings(String hex) {
        bench.send(RawFrames.frame(FrameType.SETTINGS, 0, 0, hex));
        bench.written();
    }

    private void window(int streamId, int by) {
        bench.send(RawFrames.frame(FrameType.WINDOW_UPDATE, 0, streamId, String.format("%08x", by)));
    }

    private static ByteBuf bytes(int size) {
        return Unpooled.directBuffer(size, size).writerIndex(size);
    }

    private List<String> data() {
        return bench.written().stream().filter(line -> line.startsWith("DATA")).toList();
    }

    @Test
    void largeParts_leaveAsSlicesOfWhatWasGiven() {
        settings(NO_LIMIT);
        window(0, 1 << 30);
        List<ByteBuf> parts = new ArrayList<>();
        CompositeByteBuf body = Unpooled.compositeBuffer(Integer.MAX_VALUE);
        for (int i = 0; i < 5_000; i++) {
            parts.add(bytes(2_000));
            body.addComponent(true, parts.get(i));
        }
        long[] starts =
                parts.stream().mapToLong(ByteBuf::memoryAddress).sorted().toArray();
        open(1).data(body, true);
        bench.channel.runPendingTasks();

        long shared = 0;
        for (ByteBuf next = bench.channel.readOutbound(); next != null; next = bench.channel.readOutbound()) {
            assertThat(next.nioBufferCount()).isEqualTo(1);
            long address = next.memoryAddress() + next.readerIndex();
            int at = Arrays.binarySearch(starts, address);
            long start = at >= 0 ? starts[at] : at == -1 ? Long.MIN_VALUE : starts[-at - 2];
            if (start + 2_000 > address) {
                shared += next.readableBytes();
            }
            next.release();
        }
        // A part that crosses the end of a frame is split; small pieces are copied.
        assertThat(shared).isBetween(9_000_000L, 10_000_000L);
    }

    @Test
    void receivedParts_areSlicesOfWhatWasRead() {
        List<Long> addresses = new ArrayList<>();
        StreamListener listener = new StreamListener() {
            @Override
            public void headers(Http2Headers headers, boolean end) {}

            @Override
            public void data(ByteBuf data, boolean end) {
                addresses.add(data.memoryAddress() + data.readerIndex());
                data.release();
            }

            @Override
            public void closed(StreamEnd end) {}
        };
        try (EmbeddedHttp2Connection receiver = EmbeddedHttp2Connection.server(stream -> listener)) {
            receiver.ready().send(RawFrames.request(1, false));
            ByteBuf read = Unpooled.directBuffer().writeBytes(RawFrames.data(1, 10_000, false));
            long start = read.memoryAddress();
            ByteBuf rest = read.retainedSlice(5_000, read.readableBytes() - 5_000);
            receiver.send(read.writerIndex(5_000), rest);
            assertThat(addresses).containsExactly(start + 9, start + 5_000);
        }
    }

    @Test
    void smallResponse_isOneBuffer() {
        Http2Stream stream = open(1);
        bench.written();
        stream.headers(EchoStreamListener.HEAD, false);
        stream.data(bytes(100), false);
        stream.headers(EchoStreamListener.TRAILERS, true);
        bench.channel.runPendingTasks();

        assertThat(bench.channel.outboundMessages()).hasSize(1);
        assertThat(bench.written())
                .containsExactly(
                        "HEADERS 1 [:status=200 content-type=application/echo]",
                        "DATA 1 100",
                        "HEADERS 1 [grpc-status=0] end");
    }

    @Test
    void responsesOfOneRead_areFlushedOnce() {
        try (EmbeddedHttp2Connection echo = EmbeddedHttp2Connection.server(EchoStreamListener::new)) {
            echo.ready()
                    .send(Unpooled.wrappedBuffer(
                            RawFrames.request(1, true), RawFrames.request(3, true), RawFrames.request(5, true)));
            assertThat(echo.channel.outboundMessages()).hasSize(1);
            assertThat(echo.written()).hasSize(6);
        }
    }

    /** Without memory outside the heap, which other calls release. */
    @Test
    void waitingStreamWithoutMemory_endsAlone() {
        Http2Stream first = open(1);
        Http2Stream second = open(3);
        bench.request(0).onWritable = () -> {
            throw new OutOfMemoryError("of memory outside the heap");
        };
        bench.channel.unsafe().outboundBuffer().setUserDefinedWritability(1, false);
        assertThat(first.isWritable()).isFalse();
        assertThat(second.isWritable()).isFalse();
        bench.channel.unsafe().outboundBuffer().setUserDefinedWritability(1, true);
        bench.channel.runPendingTasks();
        assertThat(bench.request(0).events).containsExactly("headers end", "closed LOST 2");
        assertThat(bench.request(1).writable).isOne();
        assertThat(bench.written()).containsExactly("RST 1 2");
    }

    @Test
    void streams_takeTurns() {
        settings(NO_LIMIT);
        Http2Stream first = open(1);
        Http2Stream second = open(3);
        first.data(bytes(3 * 16_384), true);
        second.data(bytes(2 * 16_384), true);

        assertThat(data()).containsExactly("DATA 1 16384", "DATA 3 16384", "DATA 1 16384", "DATA 3 16383");
        window(0, 100_000);
        assertThat(data()).containsExactly("DATA 1 16384 end", "DATA 3 1 end");
    }

    @Test
    void frameOfAnotherStream_waitsForItsTurn() {
        settings(NO_LIMIT);
        Http2Stream first = open(1);
        Http2Stream second = open(3);
        first.data(bytes(2 * 16_384), true);
        second.data(bytes(16_384), true);
        assertThat(data()).containsExactly("DATA 1 16384", "DATA 3 16384 end", "DATA 1 16384 end");
    }

    @Test
    void framesAreAsLargeAsThePeerTakes_upTo128KiB() {
        settings(NO_LIMIT + "00050000c000");
        window(0, 1_000_000);
        Http2Stream stream = open(1);
        stream.data(bytes(100_000), false);
        assertThat(data()).containsExactly("DATA 1 49152", "DATA 1 49152", "DATA 1 1696");
        settings("000500ffffff");
        stream.data(bytes(200_000), false);
        assertThat(data()).containsExactly("DATA 1 131072", "DATA 1 68928");
    }

    @Test
    void largeMessage_isFlushedOnce() {
        settings(NO_LIMIT);
        window(0, 1 << 20);
        List<Long> flushed = new ArrayList<>();
        bench.channel.pipeline().addFirst(new ChannelOutboundHandlerAdapter() {
            @Override
            public void flush(ChannelHandlerContext ctx) {
                flushed.add(ctx.channel().unsafe().outboundBuffer().totalPendingWriteBytes());
                ctx.flush();
            }
        });
        open(1).data(bytes(1_000_000), true);
        assertThat(data()).hasSize(62);
        assertThat(flushed).filteredOn(bytes -> bytes > 0).hasSize(1);
    }

    @Test
    void windowOfTheStream_holdsBack_andTrailersComeLast() {
        settings("00040000000a");
        Http2Stream stream = open(1);
        stream.headers(EchoStreamListener.HEAD, false);
        stream.data(bytes(15), false);
        stream.data(bytes(5), false);
        stream.headers(EchoStreamListener.TRAILERS, true);
        assertThat(data()).containsExactly("DATA 1 10");
        window(1, 3);
        assertThat(data()).containsExactly("DATA 1 3");
        window(1, 100);
        assertThat(bench.written()).containsExactly("DATA 1 7", "HEADERS 1 [grpc-status=0] end");
        assertThat(bench.connection.openStreams()).isZero();
    }

    @Test
    void windowsMadeSmaller_mayBeNegative_6_9_2() {
        Http2Stream stream = open(1);
        stream.data(bytes(60_000), false);
        assertThat(data()).hasSize(4);
        settings("000400000000");
        stream.data(bytes(10), false);
        window(1, 59_995);
        assertThat(data()).isEmpty();
        window(1, 10);
        assertThat(data()).containsExactly("DATA 1 5");
        settings("000400000100");
        stream.data(Unpooled.EMPTY_BUFFER, true);
        assertThat(data()).containsExactly("DATA 1 0 end");
    }

    @Test
    void windowThatIsTakenBackBeforeItsTurn_sendsNothing_6_9_2() {
        settings("00040000000a");
        Http2Stream stream = open(1);
        stream.data(bytes(15), false);
        assertThat(data()).containsExactly("DATA 1 10");
        bench.send(Unpooled.wrappedBuffer(
                RawFrames.windowUpdate(1, 3), RawFrames.frame(FrameType.SETTINGS, 0, 0, "000400000007")));
        assertThat(data()).isEmpty();
    }

    @Test
    void emptyEnd_needsNoWindow() {
        Http2Stream stream = open(1);
        stream.data(bytes(10), false);
        settings("000400000000");
        stream.data(Unpooled.EMPTY_BUFFER, true);
        assertThat(data()).containsExactly("DATA 1 0 end");
    }

    @Test
    void nothing_isNotSent() {
        open(1).data(Unpooled.EMPTY_BUFFER, false);
        assertThat(data()).isEmpty();
    }

    @Test
    void trailersAfterAQueueThatHasGone_areSent() {
        settings("00040000000a");
        Http2Stream stream = open(1);
        stream.data(bytes(15), false);
        assertThat(data()).containsExactly("DATA 1 10");
        window(1, 100);
        assertThat(data()).containsExactly("DATA 1 5");
        stream.headers(EchoStreamListener.TRAILERS, true);
        assertThat(bench.written()).containsExactly("HEADERS 1 [grpc-status=0] end");
    }

    @Test
    void nothingFollowsTheEnd() {
        bench.send(RawFrames.request(1, false));
        Http2Stream stream = requireNonNull(bench.request(0).stream);
        stream.headers(EchoStreamListener.HEAD, true);
        stream.headers(EchoStreamListener.TRAILERS, true);
        stream.data(bytes(10), true);
        assertThat(bench.written()).hasSize(1);
    }

    @Test
    void muchQueued_isNotWritable_untilItHasGone() {
        settings("000400000000");
        Http2Stream stream = open(1);
        assertThat(stream.isWritable()).isTrue();
        stream.data(bytes(OutboundFlowControl.QUEUE_LIMIT + 1), false);
        assertThat(stream.isWritable()).isFalse();
        assertThat(stream.isWritable()).isFalse();
        window(1, 1);
        assertThat(bench.request(0).writable).isZero();
        window(1, 1);
        assertThat(bench.request(0).writable).isEqualTo(1);
        assertThat(stream.isWritable()).isTrue();
        window(1, 1);
        assertThat(bench.request(0).writable).isEqualTo(1);
        stream.data(bytes(10), false);
        assertThat(stream.isWritable()).isFalse();
        window(1, 10);
        assertThat(bench.request(0).writable).isEqualTo(2);
    }

    @Test
    void waitingStreamThatIsResetByAnother_isNotToldAnyMore() {
        Http2Stream first = open(1);
        Http2Stream second = open(3);
        bench.request(0).onWritable = () -> second.reset(8);
        bench.channel.unsafe().outboundBuffer().setUserDefinedWritability(1, false);
        assertThat(first.isWritable()).isFalse();
        assertThat(second.isWritable()).isFalse();
        bench.channel.unsafe().outboundBuffer().setUserDefinedWritability(1, true);
        bench.channel.runPendingTasks();
        assertThat(bench.request(0).writable).isOne();
        assertThat(bench.request(1).writable).isZero();
    }

    @Test
    void channelThatTakesNoMore_holdsDataBack() {
        settings(NO_LIMIT);
        window(0, 1 << 20);
        Http2Stream stream = open(1);
        bench.channel.unsafe().outboundBuffer().setUserDefinedWritability(1, false);
        stream.data(bytes(100), false);
        assertThat(stream.isWritable()).isFalse();
        assertThat(data()).isEmpty();
        bench.channel.unsafe().outboundBuffer().setUserDefinedWritability(1, true);
        assertThat(data()).containsExactly("DATA 1 100");
        assertThat(bench.request(0).writable).isEqualTo(1);
    }

    @Test
    void streamThatIsReset_sendsNothingMore() {
        settings("000400000000");
        Http2Stream stream = open(1);
        stream.data(bytes(1000), false);
        stream.headers(EchoStreamListener.TRAILERS, true);
        bench.send(RawFrames.frame(FrameType.RST_STREAM, 0, 1, "00000008"));
        stream.data(bytes(1000), true);
        settings("000400010000");
        assertThat(data()).isEmpty();
        assertThat(bench.request(0).events).containsExactly("headers end", "closed RESET 8");
    }

    @Test
    void headersLargerThanAFrame_goOnInContinuations() {
        Http2Stream stream = open(1);
        stream.headers(EchoStreamListener.HEAD.with("a", "b".repeat(40_000)), true);
        assertThat(bench.channel.isOpen()).isTrue();
        bench.channel.runPendingTasks();
        int frames = 0;
        ByteBuf all = Unpooled.buffer();
        for (ByteBuf next = bench.channel.readOutbound(); next != null; next = bench.channel.readOutbound()) {
            all.writeBytes(next);
            next.release();
        }
        FrameHeader head = new FrameHeader();
        for (head.length = 0; all.isReadable(); all.skipBytes(head.length)) {
            head.read(all);
            assertThat(head.length).isLessThanOrEqualTo(16_384);
            assertThat(head.type).isEqualTo(frames == 0 ? FrameType.HEADERS : FrameType.CONTINUATION);
            assertThat(head.has(FrameType.END_HEADERS)).isEqualTo(frames == 2);
            assertThat(head.has(FrameType.END_STREAM)).isEqualTo(frames == 0);
            frames++;
        }
        assertThat(frames).isEqualTo(3);
    }

    @Test
    void halfOfAWindowConsumed_isGivenBack_6_9() {
        bench.send(RawFrames.request(1, false));
        RecordingStreamListener heard = bench.request(0);
        heard.consumes = false;
        for (int i = 0; i < 32; i++) {
            bench.send(RawFrames.data(1, 16_384, false));
        }
        assertThat(bench.written()).isEmpty();
        Http2Stream stream = requireNonNull(heard.stream);
        stream.consumed((1 << 19) - 1);
        assertThat(bench.written()).isEmpty();
        stream.consumed(1);
        assertThat(bench.written()).containsExactly("WINDOW 1 524288");
    }

    @Test
    void windowThatIsWidened_isGiven_andNeverShrinks() {
        bench.send(RawFrames.request(1, false));
        Http2Stream stream = requireNonNull(bench.request(0).stream);
        stream.widen(1 << 20);
        assertThat(bench.written()).isEmpty();
        stream.widen(3 << 20);
        assertThat(bench.written()).containsExactly("WINDOW 1 2097152");
        stream.widen(2 << 20);
        stream.consumed((3 << 19) - 1);
        assertThat(bench.written()).isEmpty();
        stream.consumed(1);
        assertThat(bench.written()).containsExactly("WINDOW 1 1572864");
    }

    /** An allocator whose direct memory is exhausted while a test wants it. */
    private static final class Exhaustible extends AbstractByteBufAllocator {
        private boolean exhausted;

        Exhaustible() {
            super(true);
        }

        @Override
        protected ByteBuf newHeapBuffer(int initial, int most) {
            return Unpooled.buffer(initial, most);
        }

        @Override
        protected ByteBuf newDirectBuffer(int initial, int most) {
            if (exhausted) {
                throw new OutOfMemoryError("of memory outside the heap");
            }
            return Unpooled.directBuffer(initial, most);
        }

        @Override
        public boolean isDirectBufferPooled() {
            return false;
        }
    }

    @Test
    void response_withoutMemoryOutsideTheHeap_goesOut() {
        Http2Stream stream = open(1);
        Exhaustible memory = new Exhaustible();
        bench.channel.config().setAllocator(memory);
        memory.exhausted = true;
        stream.headers(EchoStreamListener.HEAD, false);
        stream.headers(EchoStreamListener.TRAILERS, true);
        assertThat(bench.written()).hasSize(2).allMatch(line -> line.startsWith("HEADERS 1"));
    }

    @Test
    void queuedData_whoseTurnComesWithoutMemoryOutsideTheHeap_goesOut() {
        Http2Stream stream = open(1);
        stream.headers(EchoStreamListener.HEAD, false);
        stream.data(bytes(100_000), true);
        bench.written();
        Exhaustible memory = new Exhaustible();
        bench.channel.config().setAllocator(memory);
        memory.exhausted = true;
        window(0, 100_000);
        window(1, 100_000);
        memory.exhausted = false;
        assertThat(data()).isNotEmpty();
        assertThat(bench.connection.openStreams()).isZero();
    }
}
