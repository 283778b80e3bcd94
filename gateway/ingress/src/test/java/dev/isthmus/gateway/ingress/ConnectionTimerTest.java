package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.ingress.IngressSettings.BodyLimits;
import dev.isthmus.gateway.net.ConnectionDrain.DrainStep;
import dev.isthmus.gateway.net.ConnectionEvents;
import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.net.ConnectionTimeouts;
import dev.isthmus.gateway.net.OpenConnections;
import dev.isthmus.gateway.net.TimeoutRule;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.concurrent.MockTicker;
import io.netty.util.concurrent.Ticker;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Timeouts of HTTP/1.1 clients, on a fake clock. */
class ConnectionTimerTest {
    private static final String HEAD = "POST /v2/models/m/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n";
    private static final String SILENT =
            "POST /v2/models/silent/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}";
    private static final String GET = "GET /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n";

    private final Calls calls = new Calls();
    private final List<TimeoutRule> expired = new ArrayList<>();
    private final MockTicker clock = Ticker.newMockTicker();
    private final OpenConnections connections = new OpenConnections();
    private boolean stalled;
    private boolean faulty;
    private final EmbeddedChannel channel = connect(10);

    private EmbeddedChannel connect(int most) {
        ConnectionTimeouts timeouts = new ConnectionTimeouts(
                seconds(10), seconds(30), 100, seconds(300), seconds(30), seconds(3600), seconds(60), seconds(20));
        ConnectionEvents events = new ConnectionEvents() {
            @Override
            public void timedOut(TimeoutRule rule) {
                expired.add(rule);
                if (faulty) {
                    throw new IllegalStateException("a fault");
                }
            }
        };
        IngressSettings settings = new IngressSettings(
                BodyLimits.of(1 << 20),
                100,
                GatewayConfig.Headers.DEFAULT.forwarded(),
                5,
                StreamMessageForm.TRITON,
                IngressSettings.HealthResponses.DEFAULT,
                false,
                -1,
                AbusePolicy.NONE,
                new ConnectionPolicy(timeouts, most, 0, 10, 0, events));
        return new Stalling(EmbeddedChannel.builder()
                .ticker(clock)
                .handlers(new IngressPipelines(new ListenerContext(calls, () -> settings, connections, null))));
    }

    /** A channel whose peer may stop reading. */
    private final class Stalling extends EmbeddedChannel {
        Stalling(Builder builder) {
            super(builder);
        }

        @Override
        protected void doWrite(ChannelOutboundBuffer in) throws Exception {
            if (!stalled) {
                super.doWrite(in);
            }
        }
    }

    private static long seconds(long seconds) {
        return TimeUnit.SECONDS.toNanos(seconds);
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
        assertThat(connections.count()).isZero();
    }

    private void send(String text) {
        channel.writeInbound(Unpooled.copiedBuffer(text, StandardCharsets.ISO_8859_1));
    }

    private void pass(int seconds) {
        for (int i = 0; i < seconds; i++) {
            clock.advance(1, TimeUnit.SECONDS);
            channel.runScheduledPendingTasks();
            channel.runPendingTasks();
        }
    }

    private String written() {
        StringBuilder text = new StringBuilder();
        for (ByteBuf next = channel.readOutbound(); next != null; next = channel.readOutbound()) {
            text.append(next.toString(StandardCharsets.ISO_8859_1));
            next.release();
        }
        return text.toString();
    }

    private void endedBy(TimeoutRule rule) {
        assertThat(expired).containsExactly(rule);
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void clientThatSaysNothing_isClosed() {
        pass(9);
        assertThat(channel.isOpen()).isTrue();
        pass(4);
        endedBy(TimeoutRule.REQUEST_HEADERS);
    }

    /** A check that ended with an exception would be the last one. */
    @Test
    void checkThatFails_closesTheConnection() {
        send(GET);
        assertThat(written()).startsWith("HTTP/1.1 200 ");
        faulty = true;
        pass(2 * 3600);
        endedBy(TimeoutRule.IDLE);
    }

    @Test
    void headInDrops_gets408() {
        send("GET /v2/health/live HTTP/1.1\r\n");
        for (int i = 0; i < 15 && channel.isOpen(); i++) {
            send("x-" + i + ": a\r\n");
            pass(1);
        }
        endedBy(TimeoutRule.REQUEST_HEADERS);
        assertThat(written()).startsWith("HTTP/1.1 408 ").containsIgnoringCase("connection: close");
    }

    @Test
    void headOfALaterRequest_isTimedToo() {
        send(GET);
        assertThat(written()).startsWith("HTTP/1.1 200 ");
        pass(100);
        send(GET + "GET /v2/health/live HT");
        pass(15);
        endedBy(TimeoutRule.REQUEST_HEADERS);
    }

    @Test
    void headsThatFollowOneAnother_areTimedOneByOne() {
        send("GET /v2/health/live HT");
        for (int i = 0; i < 100; i++) {
            pass(1);
            send("TP/1.1\r\nHost: a\r\n\r\nGET /v2/health/live HT");
        }
        assertThat(expired).isEmpty();
    }

    @Test
    void bodyThatStops_gets408() {
        send(HEAD + "x");
        pass(28);
        assertThat(channel.isOpen()).isTrue();
        pass(8);
        endedBy(TimeoutRule.REQUEST_BODY);
        assertThat(written()).startsWith("HTTP/1.1 408 ");
        assertThat(calls.cancelled).hasSize(1);
    }

    @Test
    void bodyInDrops_gets408() {
        send(HEAD);
        for (int i = 0; i < 40 && channel.isOpen(); i++) {
            send("x");
            pass(1);
        }
        endedBy(TimeoutRule.REQUEST_BODY_RATE);
    }

    @Test
    void bodyAtTheLeastRate_goesOn() {
        send(HEAD);
        for (int i = 0; i < 200; i++) {
            send("x".repeat(110));
            pass(1);
        }
        assertThat(expired).isEmpty();
    }

    @Test
    void responseThatIsBeingMade_isNotTimed() {
        send(SILENT);
        pass(5000);
        assertThat(expired).isEmpty();
    }

    @Test
    void responseThatIsNotTaken_isDropped() {
        stalled = true;
        send(GET);
        pass(29);
        assertThat(channel.isOpen()).isTrue();
        pass(8);
        endedBy(TimeoutRule.WRITE);
    }

    @Test
    void idleConnection_isClosedAfterAnHour() {
        send(GET);
        pass(3595);
        assertThat(channel.isOpen()).isTrue();
        pass(10);
        endedBy(TimeoutRule.IDLE);
    }

    @Test
    void idleConnectionAmongMany_isClosedSoon() {
        List<EmbeddedChannel> others = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            others.add(connect(10));
        }
        send(GET);
        pass(15);
        endedBy(TimeoutRule.IDLE);
        others.forEach(EmbeddedChannel::finishAndReleaseAll);
    }

    @Test
    void idleConnectionInADrain_isClosedWhenTheSocketWasReadOnceMore() {
        send(GET);
        assertThat(written()).startsWith("HTTP/1.1 200 ");
        connections.drain().start(DrainStep.DRAINING);
        pass(1);
        assertThat(channel.isOpen()).isTrue();
        pass(1);
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void requestThatABusyEventLoopReadsLate_isServedInADrain() {
        send(GET);
        written();
        connections.drain().start(DrainStep.DRAINING);
        pass(1);
        send(GET);
        assertThat(written()).startsWith("HTTP/1.1 200 ").containsIgnoringCase("connection: close");
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void connectionBeyondTheLimit_isClosedAtOnce() {
        EmbeddedChannel beyond = connect(1);
        assertThat(beyond.isOpen()).isFalse();
        assertThat(connections.count()).isOne();
    }
}
