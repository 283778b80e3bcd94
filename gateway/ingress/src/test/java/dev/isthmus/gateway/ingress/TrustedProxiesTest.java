package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.ingress.IngressSettings.BodyLimits;
import dev.isthmus.gateway.ingress.IngressSettings.BrowserAccess;
import dev.isthmus.gateway.net.ConnectionEvents;
import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.net.ConnectionTimeouts;
import dev.isthmus.gateway.net.OpenConnections;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.AddressRange;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import dev.isthmus.gateway.settings.HeaderAllowList;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Proxies in front of a listener: whom a request comes from. */
class TrustedProxiesTest {
    private static final String GET = "GET /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n";
    private static final byte[] SIGNATURE = {13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10};
    private static final HeaderAllowList FORWARDED =
            HeaderAllowList.of(List.of("x-forwarded-*", "forwarded", "x-request-id"));

    private final EventLoopGroup loops =
            new MultiThreadIoEventLoopGroup(1, Transport.best().ioHandlerFactory());
    private final BlockingQueue<Call> calls = new LinkedBlockingQueue<>();
    private final OpenConnections connections = new OpenConnections();
    private ConnectionPolicy policy = ConnectionPolicy.NONE;
    private @Nullable IngressServer server;

    private RequestSink live(Call call, Reply reply) {
        calls.add(call);
        reply.only(new ReplyMessage.Live(true));
        return RequestSink.ENDED;
    }

    private Ingress.Client connect(boolean proxyProtocol, String... trusted) throws Exception {
        IngressSettings settings = new IngressSettings(
                BodyLimits.of(1000),
                100,
                FORWARDED,
                5,
                StreamMessageForm.TRITON,
                IngressSettings.HealthResponses.DEFAULT,
                false,
                1024,
                AbusePolicy.NONE,
                policy);
        List<AddressRange> ranges = new ArrayList<>();
        for (String each : trusted) {
            ranges.add(Objects.requireNonNull(AddressRange.parse(each)));
        }
        TrustedProxies proxies = new TrustedProxies(ranges, proxyProtocol);
        if (server == null) {
            server = IngressServer.listen(
                    Transport.best(),
                    loops,
                    ByteBufAllocator.DEFAULT,
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                    new ListenerContext(this::live, () -> settings, connections, null)
                            .of("", null, proxies, BrowserAccess.NONE));
        }
        return new Ingress.Client(
                new Socket(InetAddress.getLoopbackAddress(), server.address().getPort()));
    }

    @AfterEach
    void stop() {
        if (server != null) {
            server.close();
        }
        loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private Call call() throws InterruptedException {
        return Objects.requireNonNull(calls.poll(20, TimeUnit.SECONDS));
    }

    private static String client(Call call) {
        return ((InetSocketAddress) Objects.requireNonNull(call.context().peer()))
                .getAddress()
                .getHostAddress();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            X-Forwarded-For: 192.0.2.1                                | 192.0.2.1
            X-Forwarded-For: 6.6.6.6, 192.0.2.1                       | 192.0.2.1
            X-Forwarded-For: 6.6.6.6, 192.0.2.1, 10.9.9.9             | 192.0.2.1
            X-Forwarded-For: 6.6.6.6, 192.0.2.1:99 ,127.0.0.2         | 192.0.2.1
            X-Forwarded-For: 10.0.0.1, 10.0.0.2                       | 10.0.0.1
            X-Forwarded-For: 6.6.6.6, unknown, 10.0.0.2               | 10.0.0.2
            X-Forwarded-For: [2001:db8::1]:80                         | 2001:db8:0:0:0:0:0:1
            X-Forwarded-For: 2001:db8::1, 10.0.0.2                    | 2001:db8:0:0:0:0:0:1
            X-Forwarded-For: a.example                                | 127.0.0.1
            X-Forwarded-For:                                          | 127.0.0.1
            Forwarded: for=192.0.2.1;proto=https, For="10.0.0.1:80"   | 192.0.2.1
            Forwarded: by=1.2.3.4; for="[2001:db8::1]:80"             | 2001:db8:0:0:0:0:0:1
            Forwarded: for=_hidden                                    | 127.0.0.1
            X-Other: 192.0.2.1                                        | 127.0.0.1
            """)
    void aTrustedProxy_namesTheClient(String header, String client) throws Exception {
        try (Ingress.Client proxy = connect(false, "127.0.0.0/8", "10.0.0.0/8")) {
            proxy.send("GET /v2/health/live HTTP/1.1\r\nHost: a\r\n" + header + "\r\n\r\n");
            assertThat(proxy.read().status()).isEqualTo(200);
            assertThat(client(call())).isEqualTo(client);
        }
    }

    @Test
    void severalFields_areOneList_andXForwardedForCountsBeforeForwarded() throws Exception {
        try (Ingress.Client proxy = connect(false, "127.0.0.1")) {
            proxy.send(String.join(
                    "\r\n",
                    "GET /v2/health/live HTTP/1.1",
                    "Host: a",
                    "X-Forwarded-For: 192.0.2.1",
                    "Forwarded: for=6.6.6.6",
                    "X-Forwarded-For: 192.0.2.2",
                    "\r\n"));
            assertThat(client(call())).isEqualTo("192.0.2.2");
        }
    }

    private static final String FORGED = String.join(
            "\r\n",
            "GET /v2/health/live HTTP/1.1",
            "Host: a",
            "X-Forwarded-For: 192.0.2.1",
            "X-Forwarded-Proto: https",
            "Forwarded: for=192.0.2.1",
            "X-Forwarded-Host: h",
            "X-Request-Id: 7",
            "\r\n");

    @Test
    void aTrustedProxysHeaders_areForwarded_withTheProxyAtTheEnd() throws Exception {
        try (Ingress.Client proxy = connect(false, "127.0.0.1")) {
            proxy.send(FORGED);
            Call call = call();
            assertThat(call.headers())
                    .containsAllEntriesOf(Map.of(
                            "x-forwarded-for",
                            "192.0.2.1, 127.0.0.1",
                            "x-forwarded-proto",
                            "https",
                            "forwarded",
                            "for=192.0.2.1, for=127.0.0.1;proto=http",
                            "x-forwarded-host",
                            "h",
                            "x-request-id",
                            "7"));
            assertThat(call.client().value("x-forwarded-for")).isEqualTo("192.0.2.1");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "10.0.0.0/8"})
    void anybodyElsesHeaders_areIgnored_andReplaced(String trusted) throws Exception {
        try (Ingress.Client client = connect(false, trusted.isEmpty() ? new String[0] : new String[] {trusted})) {
            client.send(FORGED);
            Call call = call();
            assertThat(client(call)).isEqualTo("127.0.0.1");
            assertThat(call.headers())
                    .containsAllEntriesOf(Map.of(
                            "x-forwarded-for",
                            "127.0.0.1",
                            "x-forwarded-proto",
                            "http",
                            "forwarded",
                            "for=127.0.0.1;proto=http",
                            "x-request-id",
                            "7"))
                    .doesNotContainKey("x-forwarded-host");
            assertThat(call.client().value("x-forwarded-for")).isNull();
            assertThat(call.client().value("forwarded")).isNull();
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            PROXY TCP4 192.0.2.1 10.0.0.1 5555 80       | 192.0.2.1
            PROXY TCP6 2001:db8::1 ::1 5555 80          | 2001:db8:0:0:0:0:0:1
            PROXY UNKNOWN                               | 127.0.0.1
            """)
    void proxyProtocol1(String header, String client) throws Exception {
        try (Ingress.Client proxy = connect(true, "127.0.0.1")) {
            proxy.send(header + "\r\n" + GET);
            assertThat(proxy.read().status()).isEqualTo(200);
            assertThat(client(call())).isEqualTo(client);
            proxy.send(GET);
            assertThat(client(call())).isEqualTo(client);
        }
    }

    /** A version 2 header of 192.0.2.1, with TLVs of this size. */
    private static String version2(int command, int tlvBytes) {
        ByteBuffer header = ByteBuffer.allocate(28 + tlvBytes);
        header.put(SIGNATURE).put((byte) (0x20 | command)).put((byte) 0x11).putShort((short) (12 + tlvBytes));
        header.put(new byte[] {(byte) 192, 0, 2, 1, 10, 0, 0, 1})
                .putShort((short) 5555)
                .putShort((short) 80);
        if (tlvBytes > 0) {
            header.put((byte) 4).putShort((short) (tlvBytes - 3));
        }
        return new String(header.array(), StandardCharsets.ISO_8859_1);
    }

    @ParameterizedTest
    @CsvSource({"1, 0, 192.0.2.1", "1, 4000, 192.0.2.1", "0, 0, 127.0.0.1"})
    void proxyProtocol2_byteByByte(int command, int tlvBytes, String client) throws Exception {
        try (Ingress.Client proxy = connect(true, "127.0.0.1")) {
            String all = version2(command, tlvBytes) + GET;
            for (int i = 0; i < all.length(); i++) {
                proxy.send(all.substring(i, i + 1));
            }
            assertThat(proxy.read().status()).isEqualTo(200);
            assertThat(client(call())).isEqualTo(client);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                GET,
                "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                "PROXY TCP4 1.2.3 10.0.0.1 1 2\r\n" + GET,
                "PROXY TCP4 192.0.2.1 10.0.0.1 5555\r\n" + GET,
                "PROXY TCP4 192.0.2.1 10.0.0.1 5555 80 "
                        + "                                                                                "
            })
    void withoutAValidHeader_theConnectionIsClosed(String sent) throws Exception {
        try (Ingress.Client client = connect(true, "127.0.0.1")) {
            client.send(sent);
            assertThat(client.closedByServer()).isTrue();
            assertThat(calls).isEmpty();
        }
    }

    @Test
    void aHeaderThatIsTooLong_closesTheConnection() throws Exception {
        try (Ingress.Client client = connect(true, "127.0.0.1")) {
            client.send(version2(1, 60_000).substring(0, 20_000));
            assertThat(client.closedByServer()).isTrue();
        }
    }

    @Test
    void aHeaderThatDoesNotEnd_timesOut() throws Exception {
        policy = new ConnectionPolicy(
                new ConnectionTimeouts(TimeUnit.MILLISECONDS.toNanos(100), 0, 0, 0, 0, 0, 0, 0),
                Integer.MAX_VALUE,
                0,
                Integer.MAX_VALUE,
                0,
                ConnectionEvents.NONE);
        try (Ingress.Client client = connect(true, "127.0.0.1")) {
            client.send("PROXY TCP4 192.0.2.1");
            assertThat(client.closedByServer()).isTrue();
        }
    }

    @Test
    void aHeaderFromElsewhere_closesTheConnection() throws Exception {
        try (Ingress.Client client = connect(true, "10.0.0.0/8")) {
            client.send("PROXY TCP4 192.0.2.1 10.0.0.1 5555 80\r\n" + GET);
            assertThat(client.closedByServer()).isTrue();
            assertThat(calls).isEmpty();
        }
    }

    @Test
    void connectionsPerAddress_areTheClients() throws Exception {
        policy = new ConnectionPolicy(ConnectionTimeouts.NONE, 100, 1, Integer.MAX_VALUE, 0, ConnectionEvents.NONE);
        try (Ingress.Client one = connect(true, "127.0.0.1");
                Ingress.Client two = connect(true, "127.0.0.1");
                Ingress.Client again = connect(true, "127.0.0.1")) {
            one.send("PROXY TCP4 192.0.2.1 10.0.0.1 5555 80\r\n" + GET);
            assertThat(one.read().status()).isEqualTo(200);
            two.send("PROXY TCP4 192.0.2.2 10.0.0.1 5555 80\r\n" + GET);
            assertThat(two.read().status()).isEqualTo(200);
            again.send("PROXY TCP4 192.0.2.1 10.0.0.1 5556 80\r\n" + GET);
            assertThat(again.closedByServer()).isTrue();
        }
        await().atMost(Duration.ofSeconds(20)).until(() -> connections.count() == 0);
        try (Ingress.Client later = connect(true, "127.0.0.1")) {
            later.send("PROXY TCP4 192.0.2.1 10.0.0.1 5555 80\r\n" + GET);
            assertThat(later.read().status()).isEqualTo(200);
        }
    }
}
