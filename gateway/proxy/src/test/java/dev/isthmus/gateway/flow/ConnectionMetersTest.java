package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.gateway.upstream.FakeV2Server;
import io.micrometer.core.instrument.FunctionCounter;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The metrics of connections of both sides. */
class ConnectionMetersTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final String INFER =
            "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[1]}]}";

    private static ProxyServer gateway(String config) throws Exception {
        return ProxyServer.start(ConfigLoader.parse("f.yaml", "listeners: [{port: 0}]\n" + config, Path.of(".")));
    }

    private static ProxyServer local(String more) throws Exception {
        return gateway("local: {embedded_models: true}\ndefault_upstream: local\n" + more);
    }

    private static ProxyServer inFrontOf(String protocol, int port) throws Exception {
        return gateway("""
                upstreams:
                  u: {protocol: %s, endpoints: ["127.0.0.1:%d"], checks: {interval: 1h}}
                default_upstream: u
                """.formatted(protocol, port));
    }

    private static Http1Client client(ProxyServer gateway) throws Exception {
        return new Http1Client(new Socket(
                InetAddress.getLoopbackAddress(), gateway.addresses().getFirst().getPort()));
    }

    private static double closed(ProxyServer gateway, String cause) {
        return gateway.meters()
                .get("isthmus.connections.closed")
                .tag("cause", cause)
                .counter()
                .count();
    }

    private static double opened(ProxyServer gateway) {
        return gateway.meters().get("isthmus.connections.opened").counter().count();
    }

    private static double ofServer(ProxyServer gateway, String name, String... tags) {
        return gateway.meters().get("isthmus.endpoint.connections." + name).tags(tags).functionCounters().stream()
                .mapToDouble(FunctionCounter::count)
                .sum();
    }

    private static void awaitClosedConnection(ProxyServer gateway, String cause) {
        await().alias(cause).atMost(PATIENCE).until(() -> closed(gateway, cause) == 1);
        assertThat(opened(gateway)).isEqualTo(1);
    }

    @Test
    void connection_thatTheClientCloses() throws Exception {
        try (ProxyServer gateway = local("")) {
            try (Http1Client client = client(gateway)) {
                assertThat(client.get("/v2/health/live").response().status()).isEqualTo(200);
            }
            awaitClosedConnection(gateway, "client");
        }
    }

    @Test
    void connection_thatTheClientResets() throws Exception {
        try (ProxyServer gateway = local("")) {
            Socket socket = new Socket(
                    InetAddress.getLoopbackAddress(),
                    gateway.addresses().getFirst().getPort());
            await().atMost(PATIENCE).until(() -> opened(gateway) == 1);
            socket.setSoLinger(true, 0);
            socket.close();
            awaitClosedConnection(gateway, "client");
        }
    }

    @Test
    void connection_thatTheGatewayClosesAfterTheResponse() throws Exception {
        try (ProxyServer gateway = local("");
                Http1Client client = client(gateway)) {
            client.get("/v2/health/live", "Connection: close").response();
            awaitClosedConnection(gateway, "gateway");
        }
    }

    @Test
    void connection_thatTimesOut() throws Exception {
        try (ProxyServer gateway = local("connections: {request_headers_timeout: 100ms}\n");
                Http1Client client = client(gateway)) {
            client.send("GET / HTTP/1.1\r\n");
            awaitClosedConnection(gateway, "timeout");
        }
    }

    @Test
    void connection_thatEndsWithTheGateway() throws Exception {
        ProxyServer gateway = local("");
        try (gateway;
                Http1Client client = client(gateway)) {
            client.get("/v2/health/live").response();
            gateway.drain(false);
            awaitClosedConnection(gateway, "drain");
        }
    }

    @Test
    @SuppressWarnings("try") // closed twice
    void connection_thatAServerCloses() throws Exception {
        try (FakeV2Server server = FakeV2Server.rest();
                ProxyServer gateway = inFrontOf("rest", server.endpoint().port())) {
            // The first checks are over, which may open several.
            await().atMost(PATIENCE).until(() -> gateway.ready() && open(gateway) > 0);
            assertThat(ofServer(gateway, "opened")).isEqualTo(open(gateway));
            server.close();
            await().atMost(PATIENCE).until(() -> open(gateway) == 0);
            await().atMost(PATIENCE)
                    .until(() -> ofServer(gateway, "closed", "cause", "server") == ofServer(gateway, "opened"));
        }
    }

    @Test
    @SuppressWarnings("try") // closed twice
    void connection_thatAGrpcServerCloses() throws Exception {
        try (FakeV2Server server = FakeV2Server.grpc();
                ProxyServer gateway = inFrontOf("grpc", server.endpoint().port())) {
            await().atMost(PATIENCE).until(() -> gateway.ready() && ofServer(gateway, "opened") > 0);
            server.close();
            await().atMost(PATIENCE).until(() -> ofServer(gateway, "closed", "cause", "server") > 0);
        }
    }

    private static double open(ProxyServer gateway) {
        return gateway.meters().get("isthmus.endpoint.connections.open").gauge().value();
    }

    @Test
    void connection_thatIsRefused_andTheCallsThatWaitedForIt() throws Exception {
        try (ProxyServer gateway = inFrontOf("rest", 1);
                Http1Client client = client(gateway)) {
            client.send("POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nContent-Length: " + INFER.length() + "\r\n\r\n"
                    + INFER);
            assertThat(client.response().status()).isEqualTo(503);
            assertThat(ofServer(gateway, "failed", "reason", "refused")).isPositive();
            assertThat(gateway.meters()
                            .get("isthmus.endpoint.connection.wait")
                            .functionTimer()
                            .count())
                    .isPositive();
            // A health check may wait at the same time.
            await().atMost(PATIENCE)
                    .until(() -> gateway.meters()
                                    .get("isthmus.endpoint.connection.waiting")
                                    .gauge()
                                    .value()
                            == 0);
        }
    }

    @Test
    void connection_thatTheGatewayClosesAfterACancelledCall() throws Exception {
        try (FakeRestServer silent = FakeRestServer.that((request, out) -> {
                    if (request.head().startsWith("GET")) {
                        FakeRestServer.write(out, FakeRestServer.ok("{}"));
                    }
                    return true;
                });
                ProxyServer gateway = inFrontOf("rest", silent.endpoint().port())) {
            try (Http1Client client = client(gateway)) {
                client.send("POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nContent-Length: " + INFER.length()
                        + "\r\n\r\n" + INFER);
                // A call that has no connection yet closes none.
                Stage.posted(silent);
            }
            await().atMost(PATIENCE).until(() -> ofServer(gateway, "closed", "cause", "gateway") == 1);
        }
    }
}
