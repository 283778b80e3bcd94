package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.http2.RawFrame;
import dev.isthmus.gateway.http2.RawFrames;
import dev.isthmus.gateway.ingress.IngressSettings.BodyLimits;
import dev.isthmus.gateway.ingress.IngressSettings.BrowserAccess;
import dev.isthmus.gateway.net.ConnectionEvents;
import dev.isthmus.gateway.net.ConnectionMemory;
import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.net.ConnectionTimeouts;
import dev.isthmus.gateway.net.OpenConnections;
import dev.isthmus.gateway.settings.AddressRange;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.concurrent.MockTicker;
import io.netty.util.concurrent.Ticker;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What connections hold apart from calls is limited; the longest without progress are ended first. */
class ConnectionMemoryTest {
    private static final int LIMIT = 200_000;
    private static final int HEADERS = 1;
    private static final int GOAWAY = 7;
    private static final int CONTINUATION = 9;
    private static final int ENHANCE_YOUR_CALM = 11;
    private static final String GET = "GET /v2/health/live HTTP/1.1\r\nHost: a\r\n";
    private static final String LARGE_FIELD = "X: " + "a".repeat(15_000) + "\r\n";

    private final Calls calls = new Calls();
    private final MockTicker clock = Ticker.newMockTicker();
    private final ConnectionMemory memory = new ConnectionMemory(LIMIT);
    private final OpenConnections connections = new OpenConnections(memory);
    private final List<OpenConnections.ConnectionLimit> refused = new ArrayList<>();
    private final List<EmbeddedChannel> clients = new ArrayList<>();
    private TrustedProxies proxies = TrustedProxies.NONE;

    private EmbeddedChannel connect() {
        ConnectionEvents events = new ConnectionEvents() {
            @Override
            public void refused(OpenConnections.ConnectionLimit limit) {
                refused.add(limit);
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
                new ConnectionPolicy(ConnectionTimeouts.NONE, 1000, 0, 1000, 0, events));
        ListenerContext listener =
                new ListenerContext(calls, () -> settings, connections, null).of("", null, proxies, BrowserAccess.NONE);
        EmbeddedChannel client =
                new LocalClient(EmbeddedChannel.builder().ticker(clock).handlers(new IngressPipelines(listener)));
        clients.add(client);
        clock.advance(1, TimeUnit.SECONDS);
        return client;
    }

    private static final class LocalClient extends EmbeddedChannel {
        LocalClient(Builder builder) {
            super(builder);
        }

        @Override
        protected SocketAddress remoteAddress0() {
            return new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);
        }
    }

    private EmbeddedChannel connect(ByteBuf sent) {
        EmbeddedChannel client = connect();
        send(client, sent);
        return client;
    }

    private EmbeddedChannel connect(String sent) {
        return connect(bytes(sent));
    }

    private EmbeddedChannel connectHttp2() {
        return connect(Unpooled.wrappedBuffer(RawFrames.preface(), RawFrames.settings()));
    }

    private static ByteBuf bytes(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.ISO_8859_1);
    }

    /** Sends, and runs what other connections have to do then. */
    private void send(EmbeddedChannel client, ByteBuf sent) {
        client.writeInbound(client.alloc().directBuffer(sent.readableBytes()).writeBytes(sent));
        sent.release();
        clients.forEach(EmbeddedChannel::runPendingTasks);
    }

    private void send(EmbeddedChannel client, String text) {
        send(client, bytes(text));
    }

    /** A header block of this many bytes that does not end. */
    private static ByteBuf openBlock(int bytes) {
        return RawFrames.frame(HEADERS, 0, 1, Unpooled.buffer(bytes).writeZero(bytes));
    }

    private long open() {
        return clients.stream().filter(EmbeddedChannel::isOpen).count();
    }

    private static ByteBuf written(EmbeddedChannel client) {
        ByteBuf all = Unpooled.buffer();
        for (ByteBuf next = client.readOutbound(); next != null; next = client.readOutbound()) {
            all.writeBytes(next);
            next.release();
        }
        return all;
    }

    private static String text(EmbeddedChannel client) {
        return written(client).toString(StandardCharsets.ISO_8859_1);
    }

    @AfterEach
    void close() {
        clients.forEach(EmbeddedChannel::finishAndReleaseAll);
        assertThat(memory.held()).isZero();
        assertThat(connections.count()).isZero();
    }

    @Test
    void incompleteHeads_endOldestFirst() {
        for (int i = 0; i < 100; i++) {
            connect(GET + LARGE_FIELD);
        }
        EmbeddedChannel last = clients.getLast();
        send(last, "\r\n");

        assertThat(memory.held()).isLessThanOrEqualTo(LIMIT);
        assertThat(open()).isBetween(8L, 13L);
        assertThat(text(clients.getFirst()))
                .startsWith("HTTP/1.1 503 ")
                .contains("retry-after", "memory limit of incomplete requests reached");
        assertThat(text(last)).startsWith("HTTP/1.1 200 ");
        assertThat(refused).hasSize(100 - (int) open()).containsOnly(OpenConnections.ConnectionLimit.MEMORY);
    }

    @Test
    void incompleteHeaderBlocks_endWithGoAway() {
        for (int i = 0; i < 20; i++) {
            send(connectHttp2(), openBlock(60_000));
        }

        assertThat(memory.held()).isLessThanOrEqualTo(LIMIT);
        assertThat(open()).isBetween(1L, 3L);
        assertThat(clients.getLast().isOpen()).isTrue();
        RawFrame last = RawFrames.frames(written(clients.getFirst())).getLast();
        assertThat(last.type()).isEqualTo(GOAWAY);
        assertThat(last.payload().getInt(4)).isEqualTo(ENHANCE_YOUR_CALM);
    }

    @Test
    void announcedFrame_holdsWhatArrived() {
        ByteBuf begun = openBlock(60_000);
        send(connectHttp2(), begun.slice(0, 100));

        assertThat(memory.held()).isLessThan(1_000);
    }

    @Test
    void continuationThatIsIncomplete_counts() {
        EmbeddedChannel client = connectHttp2();
        send(client, openBlock(30_000));
        long block = memory.held();
        send(
                client,
                RawFrames.frame(CONTINUATION, 0, 1, Unpooled.buffer(30_000).writeZero(30_000))
                        .slice(0, 20_000));

        assertThat(memory.held()).isGreaterThanOrEqualTo(block + 19_000);
    }

    @Test
    void refusedHeaderBlock_isNotHeldWhileTheConnectionLingers() {
        EmbeddedChannel client = connectHttp2();
        send(client, openBlock(60_000));
        send(client, RawFrames.frame(CONTINUATION, 0, 1, Unpooled.buffer(16_000).writeZero(16_000)));

        assertThat(memory.held()).isZero();
    }

    @Test
    void fields_areLimitedBeforeTheHeadEnds() {
        EmbeddedChannel client = connect(GET + "a:b\r\n".repeat(100));

        assertThat(text(client)).startsWith("HTTP/1.1 431 ").contains("at most 100 header fields are accepted");
    }

    @Test
    void headOfAnIncompleteBody_counts() {
        for (int i = 0; i < 20; i++) {
            connect("POST /v2/models/m/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n" + LARGE_FIELD + "\r\n{");
        }

        assertThat(memory.held()).isLessThanOrEqualTo(LIMIT);
        assertThat(text(clients.getFirst())).startsWith("HTTP/1.1 503 ");
        send(clients.getLast(), "}       ");
        assertThat(text(clients.getLast())).startsWith("HTTP/1.1 200 ");
    }

    @Test
    void completeRequests_holdNothing() {
        EmbeddedChannel client = connect(GET + LARGE_FIELD + "\r\n");
        assertThat(memory.held()).isZero();
        send(client, GET + LARGE_FIELD);
        assertThat(memory.held()).isPositive();
        send(client, "\r\n");
        assertThat(memory.held()).isZero();
    }

    @Test
    void progress_makesAConnectionTheLast() {
        String body = "POST /v2/models/m/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{";
        EmbeddedChannel slow = connect(body.replace("\r\n\r\n", "\r\n" + LARGE_FIELD + "\r\n"));
        for (int i = 0; i < 50; i++) {
            connect(GET + LARGE_FIELD);
            send(slow, " ");
        }

        assertThat(slow.isOpen()).isTrue();
        assertThat(clients.get(1).isOpen()).isFalse();
    }

    @Test
    void drippingHead_isNoProgress() {
        EmbeddedChannel dripping = connect(GET + LARGE_FIELD);
        for (int i = 0; i < 50; i++) {
            connect(GET + LARGE_FIELD);
            if (dripping.isOpen()) {
                send(dripping, "a");
            }
        }

        assertThat(dripping.isOpen()).isFalse();
    }

    @Test
    void callBeingServed_endsLast() {
        EmbeddedChannel served = connect(
                "POST /v2/models/silent/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}" + GET + LARGE_FIELD);
        for (int i = 0; i < 50; i++) {
            connect(GET + LARGE_FIELD);
        }

        assertThat(served.isOpen()).isTrue();
    }

    @Test
    void smallHolders_areSpared() {
        EmbeddedChannel small = connect("GET /v2/health/live HTTP/1.1\r\n");
        for (int i = 0; i < 100; i++) {
            connect(GET + LARGE_FIELD);
        }

        assertThat(small.isOpen()).isTrue();
    }

    @Test
    void rememberedHeaderBlocks_count() {
        EmbeddedChannel client = connectHttp2();
        for (int i = 0; i < 3; i++) {
            send(client, RawFrames.call(2 * i + 1, "ModelInfer"));
        }
        long remembered = memory.held();
        for (int i = 0; i < 3; i++) {
            send(client, RawFrames.data(2 * i + 1, Unpooled.EMPTY_BUFFER, true));
        }

        assertThat(remembered).isGreaterThan(6 * 1024);
        assertThat(memory.held()).isBetween(1L, remembered - 3 * 2048);
    }

    @Test
    void proxyHeaderThatIsIncomplete_counts() {
        proxies = new TrustedProxies(List.of(Objects.requireNonNull(AddressRange.parse("127.0.0.1"))), true);
        connect("PROXY TCP4 127.0.0.1 ");

        assertThat(memory.held()).isEqualTo(21);
    }
}
