package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.net.Transport;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A client that disconnects behind pipelined requests that were not read yet is detected. */
class GonePipelinesTest {
    private static final String SILENT =
            "POST /v2/models/silent/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}";
    private static final String GET = "GET /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n";

    @ParameterizedTest
    @CsvSource({"EPOLL, 10000", "NIO, 10000", "EPOLL, 120000", "NIO, 120000", "EPOLL, 200000", "NIO, 200000"})
    void clientThatCloses_behindPipelinedRequests_isNoticed(Transport transport, int bytes) throws Exception {
        Calls calls = new Calls();
        try (Ingress ingress = new Ingress(transport, calls, 1_000)) {
            try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), ingress.port())) {
                socket.getOutputStream().write(SILENT.getBytes(StandardCharsets.US_ASCII));
                assertThat(calls.opened.poll(10, TimeUnit.SECONDS)).isNotNull();
                socket.getOutputStream().write(GET.repeat(bytes / GET.length()).getBytes(StandardCharsets.US_ASCII));
            }
            assertThat(calls.cancelled.poll(10, TimeUnit.SECONDS)).isNotNull();
            assertThat(calls.opened).isEmpty();
        }
    }
}
