package dev.isthmus.gateway.http2;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.http2.StreamListener.PeerWait;
import dev.isthmus.gateway.net.ConnectionTimeouts;
import dev.isthmus.gateway.net.TimeoutRule;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Timeouts of clients, checked every second. */
class Http2TimersTest {
    private static final ConnectionTimeouts TIMEOUTS = new ConnectionTimeouts(
            seconds(10), seconds(30), 100, seconds(300), seconds(30), seconds(3600), seconds(60), seconds(20));
    private static final int CANCEL = 8;

    private final EmbeddedHttp2Connection bench = EmbeddedHttp2Connection.server(
            new Http2Options(100_000, 200_000, 16_384, 100, 8192, 100, AbuseLimits.NONE));
    private final List<TimeoutRule> expired = new ArrayList<>();
    private long now = Long.MAX_VALUE - seconds(15);

    private static long seconds(long seconds) {
        return TimeUnit.SECONDS.toNanos(seconds);
    }

    @AfterEach
    void close() {
        bench.close();
    }

    private void pass(int seconds) {
        for (int i = 0; i < seconds; i++) {
            now += seconds(1);
            bench.connection.checkTime(now, TIMEOUTS, expired::add);
            bench.channel.runPendingTasks();
        }
    }

    /** A live client acknowledges PINGs. */
    private void passAlive(int seconds) {
        for (int passed = 0; passed < seconds; passed += 50) {
            pass(Math.min(50, seconds - passed));
            if (!bench.channel.isOpen()) {
                return;
            }
            bench.send(RawFrames.frame(FrameType.PING, 0, 0, "0000000000000007"));
        }
    }

    private RecordingStreamListener begun(int bytes) {
        bench.ready().send(RawFrames.request(1, false));
        RecordingStreamListener heard = bench.request(0);
        heard.awaited = PeerWait.ANYTHING;
        if (bytes > 0) {
            heard.awaited = PeerWait.BODY;
            bench.send(RawFrames.data(1, bytes, false));
        }
        bench.written();
        return heard;
    }

    @Test
    void halfPreface_isNotWaitedFor() {
        bench.send(RawFrames.preface().slice(0, 20));
        pass(9);
        assertThat(bench.channel.isOpen()).isTrue();
        pass(2);
        assertThat(bench.channel.isOpen()).isFalse();
        assertThat(expired).containsExactly(TimeoutRule.REQUEST_HEADERS);
    }

    @Test
    void headerBlockInDrops_isNotWaitedFor() {
        bench.ready();
        pass(1);
        bench.send(RawFrames.frame(FrameType.HEADERS, 0, 1, "83"));
        for (int i = 0; i < 11; i++) {
            bench.send(RawFrames.frame(FrameType.CONTINUATION, 0, 1, ""));
            pass(1);
        }
        assertThat(bench.channel.isOpen()).isFalse();
        assertThat(bench.written().getLast()).startsWith("GOAWAY");
        assertThat(expired).containsExactly(TimeoutRule.REQUEST_HEADERS);
    }

    @Test
    void headsThatFollowOneAnother_areTimedOneByOne() {
        bench.ready();
        for (int id = 1; id < 60; id += 2) {
            bench.send(RawFrames.frame(FrameType.HEADERS, FrameType.END_STREAM, id, "838684"));
            pass(1);
            bench.send(RawFrames.frame(FrameType.CONTINUATION, FrameType.END_HEADERS, id, ""));
        }
        assertThat(bench.requests()).isEqualTo(30);
        assertThat(expired).isEmpty();
    }

    @Test
    void bodyThatStops_isGivenUp() {
        RecordingStreamListener heard = begun(1000);
        pass(30);
        assertThat(heard.events).doesNotContain("timeout request_body");
        pass(2);
        assertThat(heard.events).contains("timeout request_body");
        assertThat(bench.written()).contains("RST 1 " + CANCEL);
        assertThat(bench.connection.openStreams()).isZero();
        assertThat(bench.channel.isOpen()).isTrue();
    }

    @Test
    void bodyInDrops_isGivenUp() {
        RecordingStreamListener heard = begun(1);
        for (int i = 0; i < 32; i++) {
            bench.send(RawFrames.data(1, 90, false));
            pass(1);
        }
        assertThat(heard.events).contains("timeout request_body_rate");
        assertThat(expired).containsExactly(TimeoutRule.REQUEST_BODY_RATE);
    }

    @Test
    void bodyAtTheLeastRate_goesOn() {
        begun(1);
        for (int i = 0; i < 200; i++) {
            bench.send(RawFrames.data(1, 110, false));
            pass(1);
        }
        assertThat(expired).isEmpty();
    }

    @Test
    void bodyThatWeDoNotTake_isNotMissed() {
        begun(1000).awaited = PeerWait.NOTHING;
        passAlive(500);
        assertThat(expired).isEmpty();
    }

    @Test
    void streamOfWhichNothingComes_isGivenUpLater() {
        RecordingStreamListener heard = begun(0);
        passAlive(299);
        assertThat(heard.events).containsExactly("headers");
        passAlive(3);
        assertThat(heard.events).contains("timeout stream_idle");
    }

    @Test
    void responseThatIsBeingMade_isNotTimed() {
        bench.ready().send(RawFrames.request(1, true));
        passAlive(4000);
        assertThat(expired).isEmpty();
        assertThat(bench.connection.openStreams()).isOne();
    }

    @Test
    void completeResponseThatIsNotTaken_isDropped() {
        bench.ready().send(RawFrames.request(1, true));
        requireNonNull(bench.request(0).stream).data(Unpooled.wrappedBuffer(new byte[70_000]), true);
        pass(32);
        assertThat(bench.written()).contains("RST 1 " + CANCEL);
        assertThat(expired).containsExactly(TimeoutRule.WRITE);
    }

    @Test
    void streamThatIsReadSlowly_mayWait() {
        bench.ready().send(RawFrames.request(1, true));
        requireNonNull(bench.request(0).stream).data(Unpooled.wrappedBuffer(new byte[70_000]), false);
        passAlive(290);
        assertThat(expired).isEmpty();
        passAlive(20);
        assertThat(expired).containsExactly(TimeoutRule.STREAM_IDLE);
    }

    /** A reset with CANCEL right behind the trailers would make clients forget them. */
    @Test
    void responseToATimeout_isNotFollowedByACancellation() {
        RecordingStreamListener heard = begun(0);
        heard.onTimeout = () -> requireNonNull(heard.stream).headers(EchoStreamListener.HEAD, true);
        passAlive(310);
        assertThat(expired).containsExactly(TimeoutRule.STREAM_IDLE);
        assertThat(bench.written())
                .anyMatch(line -> line.startsWith("HEADERS 1 ") && line.endsWith(" end"))
                .noneMatch(line -> line.startsWith("RST"));
        bench.channel.advanceTimeBy(1, TimeUnit.SECONDS);
        bench.channel.runScheduledPendingTasks();
        assertThat(bench.written()).contains("RST 1 0");
        assertThat(bench.connection.openStreams()).isZero();
    }

    @Test
    void silentClient_getsAPingAndIsClosed() {
        bench.ready();
        pass(62);
        assertThat(bench.written()).anyMatch(line -> line.startsWith("PING "));
        pass(21);
        assertThat(bench.channel.isOpen()).isFalse();
        assertThat(expired).containsExactly(TimeoutRule.KEEPALIVE);
    }

    /** What it sent before it got the PING arrives behind it. */
    @Test
    void clientThatIsLostAfterItsLastBytes_isClosed() {
        bench.ready();
        pass(62);
        bench.send(RawFrames.frame(FrameType.PING, 0, 0, "0000000000000007"));
        pass(82);
        assertThat(bench.channel.isOpen()).isFalse();
        assertThat(bench.written())
                .filteredOn(line -> line.startsWith("PING 7598"))
                .hasSize(1);
        assertThat(expired).containsExactly(TimeoutRule.KEEPALIVE);
    }

    @Test
    void idleConnection_isToldToLeave_thenLeft() {
        bench.ready();
        passAlive(3590);
        assertThat(bench.written()).noneMatch(line -> line.startsWith("GOAWAY"));
        passAlive(50);
        assertThat(bench.written()).contains("GOAWAY 2147483647 0");
        assertThat(bench.channel.isOpen()).isFalse();
        assertThat(expired).containsExactly(TimeoutRule.IDLE);
    }
}
