package dev.isthmus.gateway.http2;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Other connections get turns between the frames of one read, however many these are. */
class FrameTurnsTest {
    private static final int MANY = 5_000;
    /** Frames handled in one turn if the clock does not advance. */
    private static final int MOST = 512;

    /** A request on stream 1 with a body in frames of one byte, each containing the frame's number. */
    private static ByteBuf body(int frames) {
        ByteBuf all = Unpooled.buffer();
        for (int i = 0; i < frames; i++) {
            ByteBuf frame = RawFrames.frame(
                    FrameType.DATA,
                    i == frames - 1 ? FrameType.END_STREAM : 0,
                    1,
                    Unpooled.buffer().writeByte(i));
            all.writeBytes(frame);
            frame.release();
        }
        return all;
    }

    private static byte[] numbers(int count) {
        byte[] numbers = new byte[count];
        for (int i = 0; i < count; i++) {
            numbers[i] = (byte) i;
        }
        return numbers;
    }

    /** Like an event loop that has not yet run due tasks. */
    private static void read(EmbeddedHttp2Connection bench, ByteBuf in) {
        bench.channel.pipeline().fireChannelRead(in).fireChannelReadComplete();
    }

    private static boolean reads(EmbeddedHttp2Connection bench) {
        return bench.channel.config().isAutoRead();
    }

    @Test
    void framesOfOneRead_areHandledInTurns_inOrder() {
        try (EmbeddedHttp2Connection bench =
                EmbeddedHttp2Connection.server(BothRolesTest.OPTIONS).ready()) {
            bench.send(RawFrames.request(1, false));
            read(bench, body(MANY));
            RecordingStreamListener heard = bench.request(0);
            assertThat(heard.parts).isEqualTo(MOST - 1);
            assertThat(reads(bench)).isFalse();
            // Bytes in the kernel when the client shut down its output are still read.
            read(bench, RawFrames.frame(FrameType.PING, 0, 0, "0102030405060708"));
            assertThat(heard.parts).isEqualTo(MOST - 1);
            bench.channel.runPendingTasks();
            assertThat(heard.body.toByteArray()).isEqualTo(numbers(MANY));
            assertThat(heard.events).containsExactly("headers", "data end");
            assertThat(bench.written()).contains("PING ack 72623859790382856");
            assertThat(reads(bench)).isTrue();
        }
    }

    @Test
    void severalReads_areATurnEach() {
        try (EmbeddedHttp2Connection bench =
                EmbeddedHttp2Connection.server(BothRolesTest.OPTIONS).ready()) {
            bench.send(RawFrames.request(1, false));
            ByteBuf all = body(MANY);
            while (all.isReadable()) {
                read(bench, all.readRetainedSlice(Math.min(all.readableBytes(), 10 * (MOST - 1))));
                assertThat(reads(bench)).isTrue();
            }
            all.release();
            assertThat(bench.request(0).body.toByteArray()).isEqualTo(numbers(MANY));
        }
    }

    @Test
    void aViolationInWhatIsLeftOver_endsTheConnection() {
        try (EmbeddedHttp2Connection bench =
                EmbeddedHttp2Connection.server(BothRolesTest.OPTIONS).ready()) {
            bench.send(RawFrames.request(1, false));
            read(bench, Unpooled.wrappedBuffer(body(MANY), RawFrames.data(9, 1, false), RawFrames.request(3, true)));
            read(bench, RawFrames.request(5, true));
            bench.channel.runPendingTasks();
            assertThat(bench.written()).contains("GOAWAY 1 1");
            assertThat(bench.requests()).isOne();
        }
    }

    /** Without memory outside the heap, which other calls release. */
    @Test
    void aStreamWithoutMemory_endsAlone() {
        List<RecordingStreamListener> heard = List.of(new RecordingStreamListener(), new RecordingStreamListener());
        try (EmbeddedHttp2Connection bench = EmbeddedHttp2Connection.server(stream -> {
            RecordingStreamListener listener = heard.get(stream.id() / 2);
            listener.onData = () -> {
                if (stream.id() == 1) {
                    throw new OutOfMemoryError("of memory outside the heap");
                }
            };
            return listener;
        })) {
            bench.ready().send(RawFrames.request(1, false), RawFrames.request(3, false));
            bench.send(Unpooled.wrappedBuffer(RawFrames.data(1, 1, false), RawFrames.data(3, 1, true)));
            assertThat(heard.get(0).events).containsExactly("headers", "closed LOST 2");
            assertThat(heard.get(1).events).containsExactly("headers", "data end");
            assertThat(bench.written()).containsExactly("RST 1 2");
            assertThat(bench.channel.isOpen()).isTrue();
        }
    }

    @Test
    void workLeftOver_withoutMemory_endsItsStreamAlone() {
        try (EmbeddedHttp2Connection bench =
                EmbeddedHttp2Connection.server(BothRolesTest.OPTIONS).ready()) {
            bench.send(RawFrames.request(1, false), RawFrames.request(3, false));
            requireNonNull(bench.request(1).stream).inNextTurn(() -> {
                throw new OutOfMemoryError("of memory outside the heap");
            });
            read(bench, body(MANY));
            bench.channel.runPendingTasks();
            assertThat(bench.request(1).events).containsExactly("headers", "closed LOST 2");
            assertThat(bench.request(0).events).containsExactly("headers", "data end");
        }
    }

    @Test
    void aConnectionThatIsClosedMeanwhile_handlesNothingMore() {
        try (EmbeddedHttp2Connection bench =
                EmbeddedHttp2Connection.server(BothRolesTest.OPTIONS).ready()) {
            bench.send(RawFrames.request(1, false));
            read(bench, body(MANY));
            bench.connection.close();
            bench.channel.runPendingTasks();
            assertThat(bench.request(0).parts).isEqualTo(MOST - 1);
            assertThat(bench.request(0).events).containsExactly("headers", "closed LOST 0");
        }
    }

    @Test
    void aClientThatCloses_isNotHeardAnyMore() {
        try (EmbeddedHttp2Connection bench =
                EmbeddedHttp2Connection.server(BothRolesTest.OPTIONS).ready()) {
            bench.send(RawFrames.request(1, false));
            read(bench, body(MANY));
            bench.channel.pipeline().close();
            bench.channel.runPendingTasks();
            assertThat(bench.request(0).parts).isEqualTo(MOST - 1);
            assertThat(bench.connectionEvents).isEqualTo(List.of("ready", "closed"));
        }
    }

    @Test
    void aServerThatCloses_hasItsLastFramesHeard() {
        try (EmbeddedHttp2Connection bench =
                EmbeddedHttp2Connection.client(BothRolesTest.OPTIONS).ready()) {
            RecordingStreamListener heard = bench.ask(true);
            bench.written();
            ByteBuf head = RawFrames.frame(FrameType.HEADERS, FrameType.END_HEADERS, 1, RawFrames.RESPONSE);
            read(bench, Unpooled.wrappedBuffer(head, body(MANY)));
            assertThat(heard.parts).isLessThan(MANY);
            bench.channel.pipeline().close();
            assertThat(heard.body.toByteArray()).isEqualTo(numbers(MANY));
            assertThat(heard.events).containsExactly("headers", "data end");
            assertThat(bench.connectionEvents).isEqualTo(List.of("ready", "closed"));
        }
    }
}
