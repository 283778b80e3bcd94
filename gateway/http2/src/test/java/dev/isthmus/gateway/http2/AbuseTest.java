package dev.isthmus.gateway.http2;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.http2.AbuseLimits.BucketLimit;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Abusive peers, and legitimate peers that resemble them (RFC 9113, 10.5). The clock does not advance. */
class AbuseTest {
    /** The default limits of clients. */
    private static final AbuseLimits LIMITS = new AbuseLimits(
            new BucketLimit(5000, 100), new BucketLimit(1000, 33), new BucketLimit(10_000, 1000), 10, 10_000);

    /** The default limits of servers. */
    private static final AbuseLimits OF_SERVERS =
            new AbuseLimits(BucketLimit.ANY, BucketLimit.ANY, new BucketLimit(100_000, 10_000), 100, 100_000);

    private final EmbeddedHttp2Connection bench = server(LIMITS);

    private static EmbeddedHttp2Connection server(AbuseLimits limits) {
        return EmbeddedHttp2Connection.server(new Http2Options(100_000, 200_000, 16_384, 3, 8192, 100, limits))
                .ready();
    }

    private static EmbeddedHttp2Connection client(AbuseLimits limits) {
        return EmbeddedHttp2Connection.client(new Http2Options(100_000, 200_000, 16_384, 0, 8192, 100, limits))
                .ready();
    }

    @AfterEach
    void close() {
        bench.close();
    }

    private static void cut(EmbeddedHttp2Connection bench, AbuseRule rule) {
        assertThat(bench.written().getLast()).matches("GOAWAY \\d+ 11");
        assertThat(bench.channel.isOpen()).isFalse();
        assertThat(bench.connectionEvents).contains("abused " + rule);
    }

    private void serves() {
        bench.send(RawFrames.frame(FrameType.PING, 0, 0, "0000000000000007"));
        assertThat(bench.written()).contains("PING ack 7");
    }

    /** The n-th request, from 1 on, which the client resets at once. */
    private void reset(int n) {
        int id = 2 * n + 1;
        bench.send(RawFrames.request(id, true), RawFrames.frame(FrameType.RST_STREAM, 0, id, "00000008"));
    }

    private Http2Stream stream(int request) {
        return requireNonNull(bench.request(request).stream);
    }

    @Test
    void rapidReset_isCut() {
        for (int i = 0; i < 6000 && bench.channel.isOpen(); i++) {
            reset(i);
        }
        assertThat(bench.requests()).isEqualTo(5001);
        cut(bench, AbuseRule.STREAM_RESETS);
    }

    @Test
    void resets_comeBackWithTime() {
        for (int i = 0; i < 5000; i++) {
            reset(i);
        }
        for (int i = 5000; i < 10_000; i++) {
            if (i % 100 == 0) {
                bench.later(1);
            }
            reset(i);
        }
        serves();
        reset(10_000);
        cut(bench, AbuseRule.STREAM_RESETS);
    }

    @Test
    void cancelledCallsBesideAHealthyOne_leaveItAlone() {
        bench.send(RawFrames.request(1, false));
        for (int i = 1; i <= 4000; i++) {
            reset(i);
        }
        serves();
        assertThat(bench.request(0).closed).isNull();
    }

    @Test
    void completedStreams_payForResets() {
        for (int i = 0; i < 20_000; i += 2) {
            bench.send(RawFrames.request(2 * i + 1, true));
            stream(i).headers(EchoStreamListener.HEAD, true);
            reset(i + 1);
            bench.written();
        }
        serves();
    }

    @Test
    void completedStreams_payForNoMoreThanABurst() {
        for (int i = 0; i < 6000; i++) {
            bench.send(RawFrames.request(2 * i + 1, true));
            stream(i).headers(EchoStreamListener.HEAD, true);
            bench.written();
        }
        for (int i = 6000; i < 11_001; i++) {
            reset(i);
        }
        cut(bench, AbuseRule.STREAM_RESETS);
    }

    @Test
    void responsesThatAreCancelledHalfWay_areNoAttack() {
        for (int i = 0; i < 6000; i++) {
            bench.send(RawFrames.request(2 * i + 1, true));
            stream(i).headers(EchoStreamListener.HEAD, false);
            stream(i).data(Unpooled.wrappedBuffer(new byte[6]), false);
            bench.send(RawFrames.frame(FrameType.RST_STREAM, 0, 2 * i + 1, "00000008"));
            bench.written();
        }
        serves();
    }

    @Test
    void resetsThatThePeerMakesUsSend_areCut() {
        for (int i = 0; i < 1100 && bench.channel.isOpen(); i++) {
            bench.send(
                    RawFrames.request(2 * i + 1, false),
                    RawFrames.frame(FrameType.WINDOW_UPDATE, 0, 2 * i + 1, "00000000"));
        }
        assertThat(bench.requests()).isEqualTo(1001);
        cut(bench, AbuseRule.STREAM_ERRORS);
    }

    @Test
    void malformedRequests_areCut() {
        for (int i = 0; i < 1100 && bench.channel.isOpen(); i++) {
            bench.send(RawFrames.frame(FrameType.HEADERS, 5, 2 * i + 1, "83"));
        }
        cut(bench, AbuseRule.STREAM_ERRORS);
    }

    /** Frames on the open stream 1. */
    @ParameterizedTest
    @CsvSource({
        "0, 0, 1, ''", // DATA
        "0, 0, 3, 00", // little DATA of a stream that was reset
        "1, 5, 3, 83", // HEADERS of a stream that was reset
        "2, 0, 1, 0000000000", // PRIORITY
        "3, 0, 3, 00000000", // RST_STREAM of a closed stream
        "4, 0, 0, ''", // SETTINGS
        "4, 1, 0, ''",
        "6, 0, 0, 0000000000000000", // PING
        "6, 1, 0, 0000000000000000",
        "8, 0, 1, 00000001", // WINDOW_UPDATE
        "8, 0, 0, 00000001",
        "22, 0, 0, ''", // unknown
    })
    void flood_isCut(int type, int flags, int streamId, String payload) {
        bench.send(RawFrames.request(1, false), RawFrames.request(3, false));
        stream(1).reset(8);
        for (int i = 0; i < 10_100 && bench.channel.isOpen(); i++) {
            bench.send(RawFrames.frame(type, flags, streamId, payload));
        }
        cut(bench, AbuseRule.CONTROL_FRAMES);
    }

    @Test
    void muchDataOfAStreamThatWasReset_isNoFlood() {
        bench.send(RawFrames.request(1, false));
        stream(0).reset(8);
        for (int i = 0; i < 10_100; i++) {
            bench.send(RawFrames.data(1, 256, false));
            bench.written();
        }
        serves();
    }

    @Test
    void resetsAfterACompleteResponse_areNoAttack() {
        for (int i = 0; i < 6000; i++) {
            int id = 2 * i + 1;
            bench.send(RawFrames.request(id, false));
            stream(i).headers(EchoStreamListener.HEAD, true);
            bench.send(RawFrames.frame(FrameType.RST_STREAM, 0, id, "00000008"));
            bench.written();
        }
        serves();
    }

    @Test
    void settings_costByTheirNumber() {
        for (int i = 0; i < 9; i++) {
            bench.send(RawFrames.frame(FrameType.SETTINGS, 0, 0, "000400010000".repeat(1200)));
        }
        cut(bench, AbuseRule.CONTROL_FRAMES);
    }

    @Test
    void requestsAfterTheLimitOfStreams_areAFlood() {
        bench.send(RawFrames.request(1, false), RawFrames.request(3, false), RawFrames.request(5, false));
        for (int i = 0; i < 10_100 && bench.channel.isOpen(); i++) {
            bench.send(RawFrames.request(7 + 2 * i, true));
        }
        cut(bench, AbuseRule.CONTROL_FRAMES);
    }

    @Test
    void pingsThatComeWithData_areNoFlood() {
        bench.send(RawFrames.request(1, false));
        for (int i = 0; i < 20_000; i++) {
            bench.send(RawFrames.data(1, 1, false), RawFrames.frame(FrameType.PING, 0, 0, "0000000000000000"));
            bench.written();
        }
        serves();
    }

    /** As gRPC C-core up to 1.57 does: one for the stream and one for the connection. */
    @Test
    void twoWindowUpdatesForEachSmallResponse_areNoFlood() {
        bench.send(RawFrames.request(1, true));
        stream(0).headers(EchoStreamListener.HEAD, false);
        bench.written();
        for (int i = 0; i < 20_000; i++) {
            stream(0).data(Unpooled.wrappedBuffer(new byte[6]), false);
            windowUpdates();
            assertThat(bench.written()).containsExactly("DATA 1 6");
        }
        serves();
    }

    /** A client that reads a long response late. */
    @Test
    void windowUpdatesLongAfterTheResponses_areNoFlood() {
        bench.send(RawFrames.request(1, true), RawFrames.frame(FrameType.WINDOW_UPDATE, 0, 0, "00100000"));
        bench.send(RawFrames.frame(FrameType.WINDOW_UPDATE, 0, 1, "00100000"));
        stream(0).headers(EchoStreamListener.HEAD, false);
        for (int i = 0; i < 20_000; i++) {
            stream(0).data(Unpooled.wrappedBuffer(new byte[6]), false);
        }
        bench.written();
        for (int i = 0; i < 20_000; i++) {
            windowUpdates();
        }
        serves();
    }

    private void windowUpdates() {
        bench.send(RawFrames.frame(FrameType.WINDOW_UPDATE, 0, 0, "00000006"));
        bench.send(RawFrames.frame(FrameType.WINDOW_UPDATE, 0, 1, "00000006"));
    }

    @Test
    void clientThatReadsNothing_isCut() {
        AbuseLimits limits = new AbuseLimits(BucketLimit.ANY, BucketLimit.ANY, BucketLimit.ANY, 0, 1000);
        try (EmbeddedHttp2Connection deaf = server(limits)) {
            deaf.channel.pipeline().addFirst(new ChannelOutboundHandlerAdapter() {
                @Override
                public void flush(ChannelHandlerContext ctx) {
                    // The peer's TCP window is full.
                }
            });
            for (int i = 0; i < 10_000 && deaf.channel.isOpen(); i++) {
                deaf.send(RawFrames.frame(FrameType.PING, 0, 0, "0000000000000000"));
            }
            assertThat(deaf.connectionEvents).contains("abused QUEUED_FRAMES");
        }
    }

    @Test
    void limitsOfZero_takeEverything() {
        try (EmbeddedHttp2Connection patient = server(AbuseLimits.NONE)) {
            for (int i = 0; i < 20_000; i++) {
                patient.send(RawFrames.frame(FrameType.PING, 0, 0, "0000000000000000"));
                patient.written();
            }
            assertThat(patient.channel.isOpen()).isTrue();
        }
    }

    /** Triton sends four responses to each expired call. */
    @Test
    void responsesToCallsThatExpired_leaveOthersAlone() {
        try (EmbeddedHttp2Connection towards = client(OF_SERVERS)) {
            RecordingStreamListener healthy = towards.ask(false);
            for (int id = 3; id <= 40_001; id += 2) {
                requireNonNull(towards.ask(true).stream).reset(8);
                for (int i = 0; i < 4; i++) {
                    towards.send(
                            RawFrames.frame(FrameType.HEADERS, 5, id, RawFrames.RESPONSE),
                            RawFrames.frame(FrameType.RST_STREAM, 0, id, "00000008"));
                }
                towards.written();
            }
            assertThat(towards.channel.isOpen()).isTrue();
            assertThat(healthy.closed).isNull();
        }
    }

    @Test
    void requestsWithoutResponses_leaveTheStreamAlone() {
        try (EmbeddedHttp2Connection towards = client(OF_SERVERS)) {
            Http2Stream stream = requireNonNull(towards.ask(false).stream);
            for (int i = 0; i < 60_000; i++) {
                stream.data(Unpooled.wrappedBuffer(new byte[6]), false);
                towards.send(RawFrames.frame(FrameType.WINDOW_UPDATE, 0, 0, "00000006"));
                towards.send(RawFrames.frame(FrameType.WINDOW_UPDATE, 0, 1, "00000006"));
                towards.send(RawFrames.frame(FrameType.PING, 0, 0, "0000000000000001"));
                towards.written();
            }
            assertThat(towards.channel.isOpen()).isTrue();
        }
    }

    @Test
    void serverThatResetsEveryStream_isNotCut() {
        try (EmbeddedHttp2Connection towards = client(OF_SERVERS)) {
            for (int id = 1; id <= 20_001; id += 2) {
                towards.ask(true);
                towards.send(RawFrames.frame(FrameType.RST_STREAM, 0, id, "00000002"));
                towards.written();
            }
            assertThat(towards.channel.isOpen()).isTrue();
        }
    }

    @Test
    void serverThatFloods_isCut() {
        try (EmbeddedHttp2Connection towards = client(OF_SERVERS)) {
            for (int i = 0; i < 100_100 && towards.channel.isOpen(); i++) {
                towards.send(RawFrames.frame(FrameType.PING, 0, 0, "0000000000000000"));
                towards.channel.releaseOutbound();
            }
            assertThat(towards.channel.isOpen()).isFalse();
            assertThat(towards.connectionEvents).contains("abused CONTROL_FRAMES");
        }
    }
}
