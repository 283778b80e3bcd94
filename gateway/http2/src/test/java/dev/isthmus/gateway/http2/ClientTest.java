package dev.isthmus.gateway.http2;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.ReferenceCountUtil;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How a client handles a server's frames, and graceful shutdown in both roles. */
class ClientTest {
    private final EmbeddedHttp2Connection bench =
            EmbeddedHttp2Connection.client(BothRolesTest.OPTIONS).ready();

    @AfterEach
    void close() {
        bench.close();
    }

    private static ByteBuf response(int streamId, boolean end, String hex) {
        return RawFrames.frame(FrameType.HEADERS, end ? 5 : 4, streamId, hex);
    }

    @Test
    void hello_isPrefaceAndSettings_3_4() {
        try (EmbeddedHttp2Connection fresh = EmbeddedHttp2Connection.client(BothRolesTest.OPTIONS)) {
            assertThat(fresh.written()).containsExactly("PREFACE", "SETTINGS", "WINDOW 0 16711681");
            fresh.send(RawFrames.settings());
            assertThat(fresh.written()).containsExactly("SETTINGS ack");
            assertThat(fresh.connectionEvents).containsExactly("ready");
        }
    }

    @Test
    void interimResponses_areSkipped() {
        RecordingStreamListener heard = bench.ask(true);
        bench.send(
                RawFrames.frame(FrameType.HEADERS, 4, 1, RawFrames.block(":status", "103", "link", "a")),
                response(1, false, RawFrames.RESPONSE),
                RawFrames.data(1, 2, true));
        assertThat(heard.events).containsExactly("headers", "data end");
        assertThat(heard.headers.getFirst().status()).hasToString("200");
        assertThat(bench.connection.openStreams()).isZero();
    }

    @Test
    void responseWithTooManyFields_isReset_10_5_1() {
        RecordingStreamListener heard = bench.ask(true);
        bench.send(response(1, true, RawFrames.RESPONSE + "0001610162".repeat(101)));
        assertThat(heard.events).containsExactly("closed VIOLATION 11");
        assertThat(bench.channel.isOpen()).isTrue();
    }

    @Test
    void interimResponses_areFew() {
        RecordingStreamListener heard = bench.ask(true);
        for (int i = 0; i < 32; i++) {
            bench.send(RawFrames.headers(1, false, ":status", "103"));
        }
        assertThat(heard.closed).isNull();
        bench.send(RawFrames.headers(1, false, ":status", "103"));
        assertThat(heard.events).containsExactly("closed VIOLATION 11");
    }

    /** After 2^30 requests. */
    @Test
    void connectionWithoutFurtherIdentifiers_isToldAsAfterAGoAway_5_1_1() {
        AtomicInteger told = new AtomicInteger();
        ConnectionListener listener = new ConnectionListener() {
            @Override
            public void goingAway(long errorCode) {
                told.incrementAndGet();
            }
        };
        EmbeddedChannel channel = new EmbeddedChannel(new ChannelInboundHandlerAdapter());
        Http2Session session = new Http2Session(
                Http2Connection.client(BothRolesTest.OPTIONS, listener),
                channel.pipeline().firstContext(),
                new AbuseDetector(AbuseLimits.NONE, () -> 0));
        int last = session.streams().nextOwn();
        while (last < Integer.MAX_VALUE - 4) {
            last = session.streams().nextOwn();
        }
        session.open(BothRolesTest.HEAD, false, new RecordingStreamListener());
        assertThat(told).hasValue(0);
        session.open(BothRolesTest.HEAD, false, new RecordingStreamListener());
        assertThat(told).hasValue(1);
        assertThat(session.streams().size()).isEqualTo(2);
        session.writer().release();
        channel.close();
    }

    @ParameterizedTest
    @CsvSource({
        ":status=99",
        ":status=099",
        ":status=1000",
        ":status=abc",
        ":status=100 end",
        ":method=GET",
        "a=b",
        ":status=200 :status=200",
        ":status=200 a(b=c",
        ":status=200 a:b=c"
    })
    void malformedResponse_isReset_8_3_2(String fields) {
        RecordingStreamListener heard = bench.ask(true);
        boolean end = fields.endsWith(" end");
        String[] block = fields.replace(" end", "").split("[ =]");
        bench.send(RawFrames.frame(FrameType.HEADERS, end ? 5 : 4, 1, RawFrames.block(block)));
        assertThat(heard.events).containsExactly("closed VIOLATION 1");
        assertThat(bench.written()).contains("RST 1 1");
    }

    @Test
    void dataBeforeTheHead_isReset_8_1() {
        RecordingStreamListener heard = bench.ask(true);
        bench.send(RawFrames.data(1, 5, false));
        assertThat(heard.events).containsExactly("closed VIOLATION 1");
    }

    @Test
    void refusedStream_isUnprocessed_8_7() {
        RecordingStreamListener heard = bench.ask(true);
        bench.send(RawFrames.frame(FrameType.RST_STREAM, 0, 1, "00000007"));
        assertThat(requireNonNull(heard.closed).kind()).isEqualTo(StreamEnd.Cause.REFUSED);
    }

    @Test
    void refusalAfterTheHead_isNoneThatMayBeRepeated() {
        RecordingStreamListener heard = bench.ask(true);
        bench.send(response(1, false, RawFrames.RESPONSE), RawFrames.frame(FrameType.RST_STREAM, 0, 1, "00000007"));
        assertThat(heard.events).containsExactly("headers", "closed RESET 7");
    }

    @Test
    void goAway_refusesLaterStreams_andLetsTheOthersEnd_6_8() {
        RecordingStreamListener first = bench.ask(true);
        RecordingStreamListener second = bench.ask(true);
        bench.send(RawFrames.frame(FrameType.GOAWAY, 0, 0, "00000001" + "00000000"));
        assertThat(requireNonNull(second.closed).kind()).isEqualTo(StreamEnd.Cause.REFUSED);
        assertThat(first.closed).isNull();
        assertThat(bench.connection.acceptsStreams()).isFalse();
        assertThat(bench.connectionEvents).containsExactly("ready", "goingAway 0");
        bench.send(response(1, true, RawFrames.RESPONSE));
        assertThat(first.events).containsExactly("headers end");
        bench.channel.runPendingTasks();
        assertThat(bench.channel.isOpen()).isFalse();
        assertThat(bench.connectionEvents.getLast()).isEqualTo("closed");
    }

    @Test
    void goAway_thatRefusesAllStreams_isToldBeforeTheConnectionCloses_6_8() {
        RecordingStreamListener listener = new RecordingStreamListener() {
            @Override
            public void closed(StreamEnd end) {
                bench.connectionEvents.add("stream " + end.kind());
            }
        };
        requireNonNull(bench.connection.open(BothRolesTest.HEAD, true, listener));
        bench.send(RawFrames.frame(FrameType.GOAWAY, 0, 0, "00000000" + "00000000"));
        assertThat(bench.connectionEvents).containsExactly("ready", "goingAway 0", "stream REFUSED", "closed");
    }

    @Test
    void ownGoAway_waitsForOpenStreams() {
        RecordingStreamListener heard = bench.ask(true);
        bench.connection.goAway();
        assertThat(bench.connection.acceptsStreams()).isFalse();
        assertThat(bench.written()).contains("GOAWAY 0 0");
        assertThat(bench.channel.isOpen()).isTrue();
        bench.send(response(1, true, RawFrames.RESPONSE));
        assertThat(heard.events).containsExactly("headers end");
        assertThat(bench.channel.isOpen()).isFalse();
    }

    @Test
    void ownGoAway_doesNotWaitForAServerThatReadsNothing() {
        bench.channel.pipeline().addFirst(new ChannelOutboundHandlerAdapter() {
            @Override
            public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
                ReferenceCountUtil.release(message);
            }
        });
        bench.connection.goAway();
        bench.channel.runPendingTasks();
        assertThat(bench.channel.isOpen()).isTrue();
        bench.channel.advanceTimeBy(1, TimeUnit.SECONDS);
        bench.channel.runScheduledPendingTasks();
        assertThat(bench.connectionEvents).containsExactly("ready", "closed");
    }

    @Test
    void serversGoAway_warnsFirst_thenNamesTheLastStream_6_8() {
        try (EmbeddedHttp2Connection server =
                EmbeddedHttp2Connection.server(BothRolesTest.OPTIONS).ready()) {
            server.send(RawFrames.request(1, true));
            server.connection.goAway();
            assertThat(server.written()).containsExactly("GOAWAY 2147483647 0", "PING 7598544988165993216");
            server.send(RawFrames.request(3, true));
            server.send(RawFrames.frame(FrameType.PING, FrameType.ACK, 0, "697374686d757300"));
            assertThat(server.written()).containsExactly("GOAWAY 3 0");
            server.send(RawFrames.request(5, false), RawFrames.data(5, 10, true));
            assertThat(server.requests()).isEqualTo(2);
            requireNonNull(server.request(0).stream).headers(EchoStreamListener.HEAD, true);
            assertThat(server.channel.isOpen()).isTrue();
            requireNonNull(server.request(1).stream).headers(EchoStreamListener.HEAD, true);
            assertThat(server.channel.isOpen()).isFalse();
            assertThat(server.written()).hasSize(2);
        }
    }

    @Test
    void limitOfStreams_isThePeers_5_1_2() {
        bench.send(RawFrames.frame(FrameType.SETTINGS, 0, 0, "000300000001"));
        bench.ask(true);
        assertThat(bench.connection.acceptsStreams()).isFalse();
        bench.send(RawFrames.frame(FrameType.SETTINGS, 0, 0, "000300000002"));
        assertThat(bench.connection.acceptsStreams()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"0005", "0105", "0305", "0804"})
    void frameOnAStreamThatWasNeverOpened_failsTheConnection_5_1(String frame) {
        bench.ask(true);
        int type = Integer.parseInt(frame.substring(0, 2), 16);
        String payload = type == FrameType.HEADERS ? RawFrames.RESPONSE : "00000001";
        bench.send(RawFrames.frame(type, 4, 3, payload));
        assertThat(bench.written().getLast()).isEqualTo("GOAWAY 0 1");
        assertThat(requireNonNull(bench.heard.getFirst().closed).kind()).isEqualTo(StreamEnd.Cause.LOST);
    }

    @Test
    void serverThatEnablesPush_failsTheConnection_6_5_2() {
        bench.send(RawFrames.frame(FrameType.SETTINGS, 0, 0, "000200000001"));
        assertThat(bench.written().getLast()).isEqualTo("GOAWAY 0 1");
    }

    @Test
    void pushPromise_failsTheConnection_8_4() {
        bench.ask(true);
        bench.send(RawFrames.frame(FrameType.PUSH_PROMISE, 4, 1, "00000002" + RawFrames.REQUEST));
        assertThat(bench.written().getLast()).isEqualTo("GOAWAY 0 1");
    }

    @Test
    void framesAfterOurReset_areDropped_5_1() {
        RecordingStreamListener heard = bench.ask(false);
        requireNonNull(heard.stream).reset(8);
        bench.send(
                response(1, false, RawFrames.RESPONSE),
                RawFrames.data(1, 1000, false),
                response(1, true, RawFrames.RESPONSE));
        assertThat(heard.events).isEmpty();
        assertThat(bench.channel.isOpen()).isTrue();
    }

    @Test
    void responseBeforeTheRequestHasEnded_leavesTheRequestOpen_8_1() {
        RecordingStreamListener heard = bench.ask(false);
        bench.send(response(1, true, RawFrames.RESPONSE));
        assertThat(bench.connection.openStreams()).isEqualTo(1);
        requireNonNull(heard.stream).data(Unpooled.EMPTY_BUFFER, true);
        assertThat(bench.connection.openStreams()).isZero();
        assertThat(heard.events).containsExactly("headers end");
    }

    @Test
    void manyResetsOfAServer_areItsOwnMatter() {
        for (int i = 0; i < 300; i++) {
            bench.ask(true);
            bench.send(RawFrames.frame(FrameType.RST_STREAM, 0, 2 * i + 1, "00000007"));
        }
        assertThat(bench.connection.acceptsStreams()).isTrue();
    }

    @Test
    void resetInTheLastFrame_sendsNothing() {
        RecordingStreamListener heard = new RecordingStreamListener() {
            @Override
            public void headers(Http2Headers headers, boolean end) {
                super.headers(headers, end);
                requireNonNull(stream).reset(8);
            }
        };
        heard.stream = bench.connection.open(BothRolesTest.HEAD, true, heard);
        bench.written();
        bench.send(response(1, true, RawFrames.RESPONSE));
        assertThat(bench.written()).isEmpty();
        assertThat(bench.connection.openStreams()).isZero();
    }

    /** As Triton does when a call's deadline has expired. */
    @Test
    void serverThatRepeatsItself_isNoViolation() {
        bench.ask(true);
        bench.send(response(1, true, RawFrames.RESPONSE), RawFrames.frame(FrameType.RST_STREAM, 0, 1, "00000008"));
        bench.send(response(1, true, RawFrames.RESPONSE), RawFrames.frame(FrameType.RST_STREAM, 0, 1, "00000008"));
        assertThat(bench.channel.isOpen()).isTrue();
    }
}
