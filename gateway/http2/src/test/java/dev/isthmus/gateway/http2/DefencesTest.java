package dev.isthmus.gateway.http2;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How a server handles invalid frames and too many frames (RFC 9113; sections are given for each case). */
class DefencesTest {
    private static final int PROTOCOL_ERROR = 1;
    private static final int FLOW_CONTROL_ERROR = 3;
    private static final int STREAM_CLOSED = 5;
    private static final int FRAME_SIZE_ERROR = 6;
    private static final int REFUSED = 7;
    private static final int COMPRESSION_ERROR = 9;
    private static final int CALM = 11;

    private final EmbeddedHttp2Connection bench = EmbeddedHttp2Connection.server(
                    new Http2Options(100_000, 200_000, 16_384, 3, 8192, 100, AbuseLimits.NONE))
            .ready();

    @AfterEach
    void close() {
        bench.close();
    }

    /** Asserts that the connection failed with this code and ignores further frames. */
    private void failed(int code) {
        assertThat(bench.written().getLast()).matches("GOAWAY \\d+ " + code);
        assertThat(bench.channel.isOpen()).isFalse();
        assertThat(bench.connection.openStreams()).isZero();
        assertThat(bench.connectionEvents.getLast()).startsWith("closed ");
    }

    /** Asserts that stream 1 was reset with this code and the connection still works. */
    private void reset(int code) {
        assertThat(bench.written()).contains("RST 1 " + code);
        assertThat(bench.connection.openStreams()).isZero();
        serves();
    }

    private void serves() {
        bench.send(RawFrames.frame(FrameType.PING, 0, 0, "0000000000000007"));
        assertThat(bench.written()).contains("PING ack 7");
        assertThat(bench.channel.isOpen()).isTrue();
    }

    /** 4.2, 6.1 to 6.9: frames that fail the connection when no stream is open. Stream 1 has been closed before. */
    @ParameterizedTest
    @CsvSource({
        "0, 0, 0, 00, 1", // 6.1 DATA on stream 0
        "0, 8, 3, '', 6", // 6.1 PADDED without a pad length
        "1, 4, 0, 838684, 1", // 6.2 HEADERS on stream 0
        "1, 4, 4, 838684, 1", // 5.1.1 an even identifier
        "1, 8, 3, 04838684, 1", // 6.2 more padding than payload
        "1, 8, 3, '', 6", // 6.2 PADDED without a pad length
        "1, 32, 3, 00000000, 6", // 6.2 PRIORITY flag without its fields
        "1, 40, 3, 0000000000, 6", // 6.2 PADDED and PRIORITY without one of their fields
        "2, 0, 0, 0000000000, 1", // 6.3 PRIORITY on stream 0
        "2, 0, 3, 00000000, 6", // 6.3 PRIORITY of 4 bytes
        "3, 0, 0, 00000000, 1", // 6.4 RST_STREAM on stream 0
        "3, 0, 3, 00000000, 1", // 6.4 RST_STREAM on an idle stream
        "3, 0, 3, 000000, 6", // 6.4 RST_STREAM of 3 bytes
        "4, 0, 1, '', 1", // 6.5 SETTINGS on a stream
        "4, 1, 0, 000000000000, 6", // 6.5 SETTINGS ack with payload
        "4, 0, 0, 0000000000, 6", // 6.5 SETTINGS of 5 bytes
        "4, 0, 0, 000200000002, 1", // 6.5.2 ENABLE_PUSH 2
        "4, 0, 0, 000480000000, 3", // 6.5.2 INITIAL_WINDOW_SIZE 2^31
        "4, 0, 0, 000500003fff, 1", // 6.5.2 MAX_FRAME_SIZE 16383
        "4, 0, 0, 000501000000, 1", // 6.5.2 MAX_FRAME_SIZE 2^24
        "5, 4, 1, 00000002828684, 1", // 6.6 PUSH_PROMISE of a client
        "6, 0, 1, 0000000000000000, 1", // 6.7 PING on a stream
        "6, 0, 0, 00000000000000, 6", // 6.7 PING of 7 bytes
        "7, 0, 1, 0000000000000000, 1", // 6.8 GOAWAY on a stream
        "7, 0, 0, 00000000000000, 6", // 6.8 GOAWAY of 7 bytes
        "8, 0, 0, 00000000, 1", // 6.9 WINDOW_UPDATE with increment 0
        "8, 0, 0, 000000, 6", // 6.9 WINDOW_UPDATE of 3 bytes
        "8, 0, 0, 7fffffff, 3", // 6.9.1 the connection's window beyond 2^31 - 1
        "8, 0, 3, 00000001, 1", // 5.1 WINDOW_UPDATE on an idle stream
        "0, 0, 3, 00, 1", // 5.1 DATA on an idle stream
        "9, 4, 1, 838684, 1", // 6.10 CONTINUATION without HEADERS
        "1, 4, 3, ff, 9", // 4.3 a truncated block
        "1, 4, 3, 80, 9", // RFC 7541, 6.1 index 0
        "1, 4, 3, c6, 9", // RFC 7541, 2.3.3 an index beyond the table
        "1, 4, 3, 3fe21f, 9", // RFC 7541, 6.3 a table larger than was allowed
        "0, 0, 1, 00, 5", // 5.1 DATA on a closed stream
        "1, 5, 1, 838684, 5", // 5.1 HEADERS on a closed stream
    })
    void wrongFrame_failsTheConnection(int type, int flags, int streamId, String payload, int code) {
        bench.send(RawFrames.request(1, true));
        Objects.requireNonNull(bench.request(0).stream).headers(EchoStreamListener.HEAD, true);
        bench.written();

        bench.send(RawFrames.frame(type, flags, streamId, payload));

        failed(code);
    }

    @Test
    void frameLargerThanAnnounced_failsTheConnection_4_2() {
        bench.send(RawFrames.request(1, false), RawFrames.data(1, 16_385, false));
        failed(FRAME_SIZE_ERROR);
    }

    @Test
    void wrongPreface_failsTheConnection_3_4() {
        try (EmbeddedHttp2Connection fresh = EmbeddedHttp2Connection.server(BothRolesTest.OPTIONS)) {
            fresh.send(RawFrames.hex("505249202a20485454502f312e31"));
            assertThat(fresh.written().getLast()).isEqualTo("GOAWAY 0 " + PROTOCOL_ERROR);
            assertThat(fresh.channel.isOpen()).isFalse();
        }
    }

    @Test
    void firstFrameNoSettings_failsTheConnection_3_4() {
        try (EmbeddedHttp2Connection fresh = EmbeddedHttp2Connection.server(BothRolesTest.OPTIONS)) {
            fresh.send(RawFrames.preface(), RawFrames.request(1, true));
            assertThat(fresh.written().getLast()).isEqualTo("GOAWAY 0 " + PROTOCOL_ERROR);
        }
    }

    /** 8.1 to 8.3: malformed messages are stream errors. */
    @ParameterizedTest
    @CsvSource({
        ":method=GET :scheme=http", // no :path
        ":method=GET :path=/", // no :scheme
        ":scheme=http :path=/", // no :method
        ":method=GET :scheme=http :path=", // empty :path
        ":method=GET :method=GET :scheme=http :path=/", // twice
        ":method=GET :scheme=http :path=/ :path=/a",
        ":method=GET :scheme=http :path=/ :status=200", // of a response
        ":status=200",
        ":method=GET :scheme=http :path=/ :other=a", // unknown
        ":method=GET :scheme=http a=b :path=/", // after a regular field
        ":method=GET :scheme=http :path=/ Upper=b",
        ":method=GET :scheme=http :path=/ connection=close", // 8.2.2
        ":method=GET :scheme=http :path=/ transfer-encoding=chunked",
        ":method=GET :scheme=http :path=/ te=gzip",
        ":method=GET :scheme=http :path=/ content-length=a",
        ":method=GET :scheme=http :path=/ content-length=-1",
        ":method=GET :scheme=http :path=/ content-length=1000000000000000000", // 19 digits
        ":method=GET :scheme=http :path=/ content-length=0 content-length=0",
        ":method=GET :scheme=http :path=/ content-length=5", // 8.1.1: with END_STREAM
        ":method=CONNECT :scheme=http :path=/ :authority=a", // 8.5
        "a=b",
    })
    void malformedRequest_isReset(String fields) {
        bench.send(headers(1, FrameType.END_HEADERS | FrameType.END_STREAM, fields));
        assertThat(bench.requests() == 0 || bench.request(0).closed != null).isTrue();
        reset(PROTOCOL_ERROR);
    }

    private static ByteBuf headers(int streamId, int flags, String fields) {
        return RawFrames.frame(FrameType.HEADERS, flags, streamId, RawFrames.block(fields.split("[ =]", -1)));
    }

    @Test
    void contentLengthOfNothing_isWellFormed_8_1_1() {
        bench.send(headers(
                1, FrameType.END_HEADERS | FrameType.END_STREAM, ":method=GET :scheme=http :path=/ content-length=0"));
        assertThat(bench.request(0).events).containsExactly("headers end");
        assertThat(bench.written()).isEmpty();
    }

    @Test
    void lineEndInValue_isReset_8_2_1() {
        bench.send(RawFrames.frame(
                FrameType.HEADERS,
                5,
                1,
                RawFrames.block(":method", "GET", ":scheme", "http", ":path", "/", "a", "b\r\nc")));
        reset(PROTOCOL_ERROR);
    }

    @ParameterizedTest
    @ValueSource(strings = {"a b", " a", "a ", "a:b", "a:", "a\r\nb", "a\0", "a\177", "a\344", "a(b"})
    void nameThatIsNoToken_isReset_8_2_1(String name) {
        bench.send(RawFrames.headers(1, true, ":method", "GET", ":scheme", "http", ":path", "/", name, "b"));
        reset(PROTOCOL_ERROR);
        bench.send(RawFrames.request(3, false), RawFrames.headers(3, true, name, "b"));
        assertThat(bench.request(0).events).containsExactly("headers", "closed VIOLATION 1");
    }

    @ParameterizedTest
    @ValueSource(strings = {"b ", "b\t", " b", "\tb", " "})
    void whiteSpaceAroundAValue_isReset_8_2_1(String value) {
        bench.send(RawFrames.frame(
                FrameType.HEADERS,
                5,
                1,
                RawFrames.block(":method", "GET", ":scheme", "http", ":path", "/", "a", value)));
        reset(PROTOCOL_ERROR);
    }

    @Test
    void trailersWithoutEnd_areReset_8_1() {
        bench.send(RawFrames.request(1, false), headers(1, FrameType.END_HEADERS, "a=b"));
        reset(PROTOCOL_ERROR);
        assertThat(bench.request(0).events).containsExactly("headers", "closed VIOLATION 1");
    }

    @Test
    void pseudoHeaderInTrailers_isReset_8_1() {
        bench.send(RawFrames.request(1, false), RawFrames.request(1, true));
        reset(PROTOCOL_ERROR);
    }

    @ParameterizedTest
    @CsvSource({"4, true", "6, true", "6, false"})
    void bodyNotAsLongAsSaid_isReset_8_1_1(int sent, boolean end) {
        bench.send(headers(1, FrameType.END_HEADERS, ":method=POST :scheme=http :path=/ content-length=5"));
        bench.send(RawFrames.data(1, sent, end));
        reset(PROTOCOL_ERROR);
    }

    @Test
    void trailersBeforeTheBodyIsComplete_areReset_8_1_1() {
        bench.send(headers(1, FrameType.END_HEADERS, ":method=POST :scheme=http :path=/ content-length=5"));
        bench.send(headers(1, 5, "a=b"));
        reset(PROTOCOL_ERROR);
    }

    @Test
    void dataAfterTheEnd_isReset_5_1() {
        bench.send(RawFrames.request(1, true), RawFrames.data(1, 1, false));
        reset(STREAM_CLOSED);
        assertThat(bench.request(0).events).containsExactly("headers end", "closed VIOLATION 5");
    }

    @Test
    void headersAfterTheEnd_areReset_5_1() {
        bench.send(RawFrames.request(1, true), headers(1, 5, "a=b"));
        reset(STREAM_CLOSED);
    }

    @Test
    void windowUpdateByZeroOnStream_isReset_6_9() {
        bench.send(RawFrames.request(1, false), RawFrames.frame(FrameType.WINDOW_UPDATE, 0, 1, "00000000"));
        reset(PROTOCOL_ERROR);
    }

    @Test
    void windowOfStreamTooLarge_isReset_6_9_1() {
        bench.send(RawFrames.request(1, false), RawFrames.frame(FrameType.WINDOW_UPDATE, 0, 1, "7fffffff"));
        reset(FLOW_CONTROL_ERROR);
    }

    @Test
    void settingsMakeAWindowTooLarge_failTheConnection_6_9_2() {
        bench.send(RawFrames.request(1, false), RawFrames.frame(FrameType.WINDOW_UPDATE, 0, 1, "7fff0000"));
        serves();
        bench.send(RawFrames.frame(FrameType.SETTINGS, 0, 0, "000400020000"));
        failed(FLOW_CONTROL_ERROR);
    }

    @Test
    void moreDataThanTheStreamsWindow_isReset_6_9_1() {
        bench.send(RawFrames.request(1, false));
        bench.request(0).consumes = false;
        for (int i = 0; i < 10; i++) {
            bench.send(RawFrames.data(1, 10_000, false));
        }
        serves();
        bench.send(RawFrames.data(1, 1, false));
        reset(FLOW_CONTROL_ERROR);
    }

    @Test
    void moreDataThanTheConnectionsWindow_failsTheConnection_6_9_1() {
        Http2Options options = new Http2Options(1 << 20, 65_535, 1 << 20, 3, 8192, 100, AbuseLimits.NONE);
        try (EmbeddedHttp2Connection small =
                EmbeddedHttp2Connection.server(options).ready()) {
            small.send(RawFrames.request(1, false), RawFrames.data(1, 65_535, false));
            assertThat(small.written()).contains("WINDOW 0 65535");
            small.send(RawFrames.data(1, 65_536, false));
            assertThat(small.written().getLast()).isEqualTo("GOAWAY 1 " + FLOW_CONTROL_ERROR);
        }
    }

    @Test
    void connectionsWindow_mayBeTheLargest_6_9_1() {
        bench.send(RawFrames.frame(FrameType.WINDOW_UPDATE, 0, 0, "7fff0000"));
        serves();
        bench.send(RawFrames.frame(FrameType.WINDOW_UPDATE, 0, 0, "00000001"));
        failed(FLOW_CONTROL_ERROR);
    }

    @Test
    void identifierThatGoesDown_failsTheConnection_5_1_1() {
        bench.send(RawFrames.request(5, true), RawFrames.request(3, true));
        failed(STREAM_CLOSED);
    }

    @Test
    void moreStreamsThanAnnounced_areRefused_5_1_2() {
        bench.send(
                RawFrames.request(1, false),
                RawFrames.request(3, false),
                RawFrames.request(5, false),
                RawFrames.request(7, false));
        assertThat(bench.written()).containsExactly("RST 7 " + REFUSED);
        assertThat(bench.requests()).isEqualTo(3);
        bench.send(RawFrames.data(7, 1000, true));
        serves();
    }

    @Test
    void priority_isIgnored_5_3_2() {
        bench.send(RawFrames.frame(FrameType.HEADERS, 0x25, 1, "00000003ff" + RawFrames.REQUEST));
        bench.send(RawFrames.frame(FrameType.PRIORITY, 0, 99, "00000001ff"));
        assertThat(bench.requests()).isEqualTo(1);
        serves();
    }

    @Test
    void headOfAStreamThatDependsOnItself_failsTheConnection_rfc7540_5_3_1() {
        bench.send(RawFrames.frame(FrameType.HEADERS, 0x25, 1, "00000001ff" + RawFrames.REQUEST));
        failed(PROTOCOL_ERROR);
    }

    @Test
    void priorityOfAStreamThatDependsOnItself_failsTheConnection_rfc7540_5_3_1() {
        bench.send(RawFrames.frame(FrameType.PRIORITY, 0, 99, "80000063ff"));
        failed(PROTOCOL_ERROR);
    }

    @Test
    void unknownFrames_areIgnored_5_5() {
        bench.send(RawFrames.frame(0x16, 0xff, 7, Unpooled.wrappedBuffer(new byte[16_384])));
        serves();
    }

    @Test
    void frameBetweenTheFramesOfABlock_failsTheConnection_6_10() {
        bench.send(
                RawFrames.frame(FrameType.HEADERS, 0, 1, "83"),
                RawFrames.frame(FrameType.PING, 0, 0, "0000000000000000"));
        failed(PROTOCOL_ERROR);
    }

    @Test
    void continuationOfAnotherStream_failsTheConnection_6_10() {
        bench.send(
                RawFrames.frame(FrameType.HEADERS, 0, 1, "83"), RawFrames.frame(FrameType.CONTINUATION, 4, 3, "8684"));
        failed(PROTOCOL_ERROR);
    }

    @Test
    void blockInManyFrames_isRead_6_10() {
        bench.send(RawFrames.frame(FrameType.HEADERS, 1, 1, "83"));
        bench.send(
                RawFrames.frame(FrameType.CONTINUATION, 0, 1, "86"),
                RawFrames.frame(FrameType.CONTINUATION, 4, 1, "84"));
        assertThat(bench.request(0).events).containsExactly("headers end");
    }

    @Test
    void emptyContinuationsWithoutEnd_failTheConnection_10_5() {
        bench.send(RawFrames.frame(FrameType.HEADERS, 0, 1, "83"));
        for (int i = 0; i < 63; i++) {
            bench.send(RawFrames.frame(FrameType.CONTINUATION, 0, 1, ""));
        }
        assertThat(bench.channel.isOpen()).isTrue();
        bench.send(RawFrames.frame(FrameType.CONTINUATION, 0, 1, ""));
        failed(CALM);
    }

    @Test
    void blockFarLargerThanAnnounced_failsTheConnection_10_5_1() {
        bench.send(RawFrames.frame(FrameType.HEADERS, 0, 1, Unpooled.wrappedBuffer(new byte[16_384])));
        bench.send(RawFrames.frame(FrameType.CONTINUATION, 0, 1, Unpooled.wrappedBuffer(new byte[16_384])));
        assertThat(bench.channel.isOpen()).isTrue();
        bench.send(RawFrames.frame(FrameType.CONTINUATION, 0, 1, Unpooled.wrappedBuffer(new byte[1])));
        failed(CALM);
        assertThat(bench.connectionEvents).contains("abused HEADER_BLOCK");
    }

    /** Four times the limit of a header block, as for blocks. */
    @Test
    void frameFarLargerThanAHeaderBlock_failsTheConnection_10_5() {
        Http2Options options = new Http2Options(100_000, 200_000, 1 << 20, 3, 8192, 100, AbuseLimits.NONE);
        try (EmbeddedHttp2Connection large =
                EmbeddedHttp2Connection.server(options).ready()) {
            large.send(RawFrames.frame(FrameType.GOAWAY, 0, 0, Unpooled.wrappedBuffer(new byte[32_768])));
            assertThat(large.channel.isOpen()).isTrue();
            large.send(RawFrames.frame(FrameType.GOAWAY, 0, 0, Unpooled.wrappedBuffer(new byte[32_769])));
            assertThat(large.written().getLast()).isEqualTo("GOAWAY 0 " + CALM);
        }
    }

    /** A block of far too many fields closes the connection before it is decoded. */
    @Test
    void headOfFarMoreFields_failsTheConnection_10_5_1() {
        bench.send(RawFrames.frame(FrameType.HEADERS, 5, 1, bomb(1000)));
        failed(CALM);
        assertThat(bench.connectionEvents).contains("abused HEADER_BLOCK");
    }

    /** Requests with too large headers get 431, up to a limit. */
    @Test
    void headsTooLarge_countAsErrors_10_5_1() {
        AbuseLimits few = new AbuseLimits(
                AbuseLimits.BucketLimit.ANY, new AbuseLimits.BucketLimit(2, 1), AbuseLimits.BucketLimit.ANY, 0, 0);
        Http2Options options = new Http2Options(100_000, 200_000, 16_384, 3, 8192, 100, few);
        try (EmbeddedHttp2Connection limited =
                EmbeddedHttp2Connection.server(options).ready()) {
            for (int i = 0; i < 3; i++) {
                limited.send(RawFrames.frame(FrameType.HEADERS, 5, 2 * i + 1, bomb(300)));
            }
            assertThat(limited.requests()).isEqualTo(2);
            assertThat(limited.connectionEvents).contains("abused STREAM_ERRORS");
        }
    }

    /** One field of 4000 bytes is indexed, followed by references to it of one byte each. */
    private static ByteBuf bomb(int count) {
        byte[] value = new byte[4000];
        Arrays.fill(value, (byte) 'a');
        byte[] references = new byte[count];
        Arrays.fill(references, (byte) 0xbe);
        return Unpooled.wrappedBuffer(
                RawFrames.hex("838684" + "400161" + "7fa11e"),
                Unpooled.wrappedBuffer(value),
                Unpooled.wrappedBuffer(references));
    }

    /** The listener, which responds with 431, receives the fields before the limit. */
    @Test
    void largerHeadThanAnnounced_isReportedToTheListener_10_5_1() {
        bench.send(RawFrames.frame(FrameType.HEADERS, 5, 1, bomb(300)));
        assertThat(Objects.requireNonNull(bench.request(0).stream).headTooLarge())
                .isTrue();
        assertThat(bench.request(0).headers.getFirst()).hasSize(5);
        serves();
    }

    /** One frame of 20 KB, which a client may send, since SETTINGS_MAX_FRAME_SIZE is 1 MiB. */
    @Test
    void headLargerThanAFrameOfTheDefaultSize_getsAResponseAndEndsTheConnectionOnceTheOthersHave_4_2() {
        try (EmbeddedHttp2Connection large = EmbeddedHttp2Connection.server(
                        new Http2Options(100_000, 200_000, 1 << 20, 3, 16_384, 100, AbuseLimits.NONE))
                .ready()) {
            byte[] value = new byte[20_000];
            Arrays.fill(value, (byte) 'a');
            ByteBuf head = Unpooled.wrappedBuffer(
                    RawFrames.hex("838684" + "000161" + "7fa19b01"), Unpooled.wrappedBuffer(value));
            large.send(RawFrames.request(1, true), RawFrames.frame(FrameType.HEADERS, 5, 3, head));

            Http2Stream refused = Objects.requireNonNull(large.request(1).stream);
            assertThat(refused.headTooLarge()).isTrue();
            refused.headers(EchoStreamListener.HEAD, true);
            assertThat(large.written().getLast()).startsWith("HEADERS 3");
            Objects.requireNonNull(large.request(0).stream).headers(EchoStreamListener.HEAD, true);
            large.send(RawFrames.frame(FrameType.PING, 1, 0, "697374686d757300"));
            assertThat(large.written()).contains("GOAWAY 3 " + FRAME_SIZE_ERROR);
            assertThat(large.channel.isOpen()).isFalse();
        }
    }

    /** 100 fields are accepted in any encoding; the crumbs of a cookie count individually. */
    @ParameterizedTest
    @CsvSource({"100, false", "101, true"})
    void fields_areCountedDecoded(int fields, boolean tooLarge) {
        StringBuilder block = new StringBuilder("838684" + "410161"); // and :authority
        for (int i = 0; i < fields; i++) {
            block.append("00" + "06636f6f6b6965" + "0161");
        }
        bench.send(RawFrames.frame(FrameType.HEADERS, 5, 1, block.toString()));
        assertThat(Objects.requireNonNull(bench.request(0).stream).headTooLarge())
                .isEqualTo(tooLarge);
    }

    @Test
    void framesOfAStreamThatWeReset_areDropped_5_1() {
        bench.send(RawFrames.request(1, false));
        Objects.requireNonNull(bench.request(0).stream).reset(8);
        bench.send(
                RawFrames.data(1, 1000, false),
                headers(1, 5, "a=b"),
                RawFrames.frame(FrameType.WINDOW_UPDATE, 0, 1, "00000001"));
        serves();
        assertThat(bench.request(0).events).containsExactly("headers");
    }

    /** Of so many resets, not each is remembered. */
    @Test
    void framesOfAStreamThatWeResetLongAgo_areDropped_5_1() {
        for (int i = 0; i < 200; i++) {
            bench.send(RawFrames.request(2 * i + 1, false));
            Objects.requireNonNull(bench.request(i).stream).reset(8);
        }
        bench.send(RawFrames.data(1, 1000, false), RawFrames.data(199, 1000, true), RawFrames.data(399, 1000, false));
        serves();
    }

    @Test
    void settingsAtTheirLimits_areTaken_6_5_2() {
        bench.send(RawFrames.settings(2, 1, 2, 0, 4, Integer.MAX_VALUE, 4, 0, 5, 16_384, 5, 16_777_215));
        assertThat(bench.written()).containsExactly("SETTINGS ack");
        serves();
    }

    @Test
    void frameAfterThePeersReset_isAnErrorOfTheStream_5_1() {
        bench.send(
                RawFrames.request(1, false),
                RawFrames.frame(FrameType.RST_STREAM, 0, 1, "00000008"),
                RawFrames.data(1, 1, false));
        reset(STREAM_CLOSED);
    }

    @Test
    void paddedData_countsWhole_6_9_1() {
        bench.send(RawFrames.request(1, false));
        for (int i = 0; i < 1000; i++) {
            bench.send(RawFrames.frame(
                    FrameType.DATA,
                    FrameType.PADDED,
                    1,
                    Unpooled.wrappedBuffer(new byte[257]).setByte(0, 255)));
        }
        assertThat(bench.written())
                .filteredOn(line -> line.startsWith("WINDOW 1"))
                .hasSize(5);
        serves();
    }

    @Test
    void dataWithMorePaddingThanPayload_failsTheConnection_6_1() {
        bench.send(RawFrames.request(1, false), RawFrames.frame(FrameType.DATA, FrameType.PADDED, 1, "020000"));
        serves();
        bench.send(RawFrames.frame(FrameType.DATA, FrameType.PADDED, 1, "030000"));
        failed(PROTOCOL_ERROR);
    }

    private void respondEarly() {
        bench.send(RawFrames.request(1, false));
        Objects.requireNonNull(bench.request(0).stream).headers(EchoStreamListener.HEAD, true);
        assertThat(bench.written()).containsExactly("HEADERS 1 [:status=200 content-type=application/echo] end");
    }

    @Test
    void responseBeforeTheEndOfTheRequest_stopsTheRequest_8_1() {
        respondEarly();
        bench.send(RawFrames.data(1, 5, false));
        assertThat(bench.written()).isEmpty();
        assertThat(bench.request(0).events).containsExactly("headers");
        bench.channel.advanceTimeBy(1, TimeUnit.SECONDS);
        bench.channel.runScheduledPendingTasks();
        assertThat(bench.written()).containsExactly("RST 1 0");
        assertThat(bench.connection.openStreams()).isZero();
    }

    /** 8.1, 6.9, 6.9.1: protocol errors after an early response are still errors. */
    @ParameterizedTest
    @CsvSource({
        "1, 4, 838684, 1", // HEADERS without END_STREAM
        "1, 5, 838684, 1", // pseudo-header fields in trailers
        "8, 0, 00000000, 1", // WINDOW_UPDATE with increment 0
        "8, 0, 7fffffff, 3", // a window beyond 2^31 - 1
    })
    void responseBeforeTheEndOfTheRequest_isFollowedByAnError(int type, int flags, String payload, int code) {
        respondEarly();
        bench.send(RawFrames.data(1, 5, false), RawFrames.frame(type, flags, 1, payload));
        reset(code);
    }

    @Test
    void responseAfterTheRequestsBody_endsTheStream_5_1() {
        bench.send(RawFrames.request(1, false), RawFrames.data(1, 5, true));
        Objects.requireNonNull(bench.request(0).stream).headers(EchoStreamListener.HEAD, true);
        assertThat(bench.connection.openStreams()).isZero();
        assertThat(bench.written()).hasSize(1);
    }

    @Test
    void framesBehindTheOneThatCloses_areNotRead() {
        bench.send(RawFrames.request(1, false));
        bench.request(0).onData = bench.connection::close;
        bench.send(Unpooled.wrappedBuffer(RawFrames.data(1, 5, false), RawFrames.request(3, true)));
        assertThat(bench.requests()).isEqualTo(1);
    }

    @Test
    void listenerThatFailsOnHeaders_costsItsStreamOnly() {
        RecordingStreamListener listener = new RecordingStreamListener() {
            @Override
            public void headers(Http2Headers received, boolean end) {
                throw new IllegalStateException("on purpose");
            }
        };
        try (EmbeddedHttp2Connection failing = EmbeddedHttp2Connection.server(stream -> listener)) {
            failing.ready().send(RawFrames.request(1, true));
            assertThat(listener.events).containsExactly("closed LOST 2");
            assertThat(failing.written()).containsExactly("RST 1 2");
            assertThat(failing.channel.isOpen()).isTrue();
        }
    }

    @Test
    void listenerThatFails_costsItsStreamOnly() {
        try (EmbeddedHttp2Connection failing = EmbeddedHttp2Connection.server(stream -> {
            throw new IllegalStateException("on purpose");
        })) {
            failing.ready().send(RawFrames.request(1, true));
            assertThat(failing.written()).containsExactly("RST 1 2");
            assertThat(failing.channel.isOpen()).isTrue();
        }
    }

    /** Whatever a listener does with what it is told, others go on. */
    @ParameterizedTest
    @ValueSource(strings = {"headers", "closed"})
    void listenerThatFailsLater_costsItsStreamOnly(String when) {
        StreamListener broken = new StreamListener() {
            @Override
            public void headers(Http2Headers headers, boolean end) {
                fail("headers");
            }

            @Override
            public void data(ByteBuf data, boolean end) {
                data.release();
            }

            @Override
            public void closed(StreamEnd end) {
                fail("closed");
            }

            private void fail(String told) {
                if (told.equals(when)) {
                    throw new IllegalStateException("on purpose");
                }
            }
        };
        try (EmbeddedHttp2Connection failing = EmbeddedHttp2Connection.server(stream -> broken)) {
            failing.ready().send(RawFrames.request(1, false), RawFrames.frame(FrameType.RST_STREAM, 0, 1, "00000008"));
            assertThat(failing.connection.openStreams()).isZero();
            assertThat(failing.written()).isEqualTo(when.equals("headers") ? List.of("RST 1 2") : List.of());
            assertThat(failing.channel.isOpen()).isTrue();
        }
    }

    @Test
    void compressionError_isNamed() {
        bench.send(RawFrames.frame(FrameType.HEADERS, 5, 1, "ff"));
        failed(COMPRESSION_ERROR);
    }
}
