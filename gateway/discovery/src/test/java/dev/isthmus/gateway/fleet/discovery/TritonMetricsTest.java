package dev.isthmus.gateway.fleet.discovery;

import static dev.isthmus.gateway.fleet.ClusterResources.QueueDepthSource.UNKNOWN;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.SecretText;
import dev.isthmus.gateway.settings.TestAuthority;
import dev.isthmus.gateway.settings.TestAuthority.Issued;
import dev.isthmus.gateway.settings.UpstreamTls;
import dev.isthmus.gateway.tls.ClientTls;
import dev.isthmus.gateway.tls.TlsRegistry;
import dev.isthmus.gateway.upstream.FakeRestServer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TritonMetricsTest {
    private static final Map<String, SecretText> HEADERS = Map.of("x-key", new SecretText("k"));

    private final MultiThreadIoEventLoopGroup loops =
            new MultiThreadIoEventLoopGroup(1, Transport.best().ioHandlerFactory());
    private final BlockingQueue<Long> depths = new LinkedBlockingQueue<>();

    @TempDir
    Path folder = Path.of("");

    @AfterEach
    void close() {
        loops.shutdownGracefully(0, 0, TimeUnit.SECONDS).awaitUninterruptibly();
    }

    private long ask(Endpoint server) throws Exception {
        new TritonMetrics(loops.next(), null).read(server, server.authority(), HEADERS, depths::add);
        Long depth = depths.poll(20, TimeUnit.SECONDS);
        loops.next().submit(() -> {}).get();
        assertThat(depths).as("more than one result").isEmpty();
        return depth == null ? Long.MIN_VALUE : depth;
    }

    private long depthIn(String response) throws Exception {
        try (FakeRestServer server = FakeRestServer.sending(response)) {
            return ask(server.endpoint());
        }
    }

    @Test
    void metrics_areReadAndTheConnectionClosed() throws Exception {
        String metrics = """
                nv_inference_pending_request_count{model="a",version="1"} 5
                nv_inference_pending_request_count{model="b",version="1"} 7
                """;
        try (FakeRestServer server = FakeRestServer.sending(FakeRestServer.ok(metrics))) {
            assertThat(ask(server.endpoint())).isEqualTo(12);

            assertThat(server.request().head())
                    .startsWith("GET /metrics HTTP/1.1\r\n")
                    .contains("\r\nx-key: k\r\n");
            server.awaitConnectionClosed();
        }
    }

    @Test
    void metrics_areReadOverTls() throws Exception {
        TestAuthority authority = new TestAuthority(folder, "ca");
        Issued issued = authority.issue("server", "triton.example");
        ServerSocket socket =
                issued.server().getServerSocketFactory().createServerSocket(0, 50, InetAddress.getLoopbackAddress());
        UpstreamTls settings = new UpstreamTls(authority.ca(), null, null, null);
        try (ClientTls tls = new TlsRegistry(new SimpleMeterRegistry()).client("test", settings);
                FakeRestServer server = FakeRestServer.at(socket, (request, out) -> {
                    FakeRestServer.write(out, FakeRestServer.ok("nv_inference_pending_request_count 5\n"));
                    return true;
                })) {
            for (String host : List.of("triton.example:8001", "other.example:8001")) {
                new TritonMetrics(loops.next(), tls).read(server.endpoint(), host, Map.of(), depths::add);
                assertThat(depths.poll(20, TimeUnit.SECONDS)).isEqualTo(host.startsWith("triton") ? 5 : UNKNOWN);
            }
        }
    }

    @Test
    void metricsWithoutTheMetric_areUnknown() throws Exception {
        assertThat(depthIn(FakeRestServer.ok("up 1\n"))).isEqualTo(UNKNOWN);
    }

    @Test
    void failure_isUnknown() throws Exception {
        assertThat(depthIn("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")).isEqualTo(UNKNOWN);
    }

    @Test
    void nonsense_isUnknown() throws Exception {
        assertThat(depthIn("SSH-2.0\r\n\r\n")).isEqualTo(UNKNOWN);
    }

    @Test
    void lostConnection_isUnknown() throws Exception {
        try (FakeRestServer server = FakeRestServer.that((request, out) -> false)) {
            assertThat(ask(server.endpoint())).isEqualTo(UNKNOWN);
        }
    }

    @Test
    void silence_isUnknown() throws Exception {
        try (FakeRestServer server = FakeRestServer.that((request, out) -> true)) {
            assertThat(ask(server.endpoint())).isEqualTo(UNKNOWN);
        }
    }

    @Test
    void metricsWithoutEnd_areUnknown() throws Exception {
        try (FakeRestServer server = FakeRestServer.that((request, out) -> {
            FakeRestServer.write(out, "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\nup 1\n");
            return true;
        })) {
            assertThat(ask(server.endpoint())).isEqualTo(UNKNOWN);
        }
    }

    @Test
    void metricsThatComeByteByByte_areUnknownInTime() throws Exception {
        CountDownLatch read = new CountDownLatch(1);
        try (FakeRestServer server = FakeRestServer.that((request, out) -> {
            FakeRestServer.write(out, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
            while (!isOver(read)) {
                FakeRestServer.write(out, "\n");
            }
            return false;
        })) {
            long depth = ask(server.endpoint());
            read.countDown();
            assertThat(depth).isEqualTo(UNKNOWN);
        }
    }

    /** Whether it is over within a moment. */
    private static boolean isOver(CountDownLatch latch) {
        try {
            return latch.await(100, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return true;
        }
    }

    @Test
    void nobodyThere_isUnknown() throws Exception {
        FakeRestServer server = FakeRestServer.sending("");
        server.close();

        assertThat(ask(server.endpoint())).isEqualTo(UNKNOWN);
    }
}
