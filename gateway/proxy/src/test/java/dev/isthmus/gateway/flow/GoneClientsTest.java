package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The call of an HTTP/1.1 client that has disconnected is cancelled, however much it sent after its request. */
class GoneClientsTest {
    private static final String JSON =
            "{\"inputs\":[{\"name\":\"INPUT0\",\"datatype\":\"INT32\",\"shape\":[1],\"data\":[1]}]}";
    private static final String NEXT = "GET /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n";

    private PartsServer server;
    private Stage stage;

    @BeforeEach
    void start() throws Exception {
        server = new PartsServer();
        stage = Stage.taking(1 << 20, Stage.grpc(server, ServerDialect.TRITON));
    }

    @AfterEach
    void stop() throws Exception {
        stage.close();
        server.close();
    }

    /** A reset is noticed regardless of unread data; the end of a connection only after it. */
    @ParameterizedTest
    @CsvSource({"0, false", "0, true", "10, false", "10, true", "2_000, false", "20_000, true"})
    void itsCallIsCancelled(String pipelined, boolean reset) throws Exception {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), stage.port())) {
            OutputStream out = socket.getOutputStream();
            out.write(("POST /v2/models/m/infer HTTP/1.1\r\nHost: a\r\nContent-Length: " + JSON.length() + "\r\n\r\n"
                            + JSON)
                    .getBytes(StandardCharsets.US_ASCII));
            assertThat(server.next()).isNotNull();
            out.write(NEXT.repeat(Integer.parseInt(pipelined.replace("_", ""))).getBytes(StandardCharsets.US_ASCII));
            socket.setSoLinger(reset, 0);
        }
        await().untilAsserted(() -> assertThat(stage.proxy()
                        .meters()
                        .get("isthmus.connections.open")
                        .gauge()
                        .value())
                .isZero());
    }
}
