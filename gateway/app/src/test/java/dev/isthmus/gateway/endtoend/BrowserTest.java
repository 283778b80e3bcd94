package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.TestAuthority;
import io.micrometer.core.instrument.Timer;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Pages of other origins in a real browser, over HTTP/1.1 and, with TLS, HTTP/2. */
class BrowserTest {
    private static final String LISTENER = "{port: 0, grpc_web: true, cors: {origins: [\"http://localhost:*\"]}%s}";

    @Test
    void pages(@TempDir Path folder) throws Exception {
        TestAuthority.Issued issued = new TestAuthority(folder, "authority").issue("server", "localhost", "127.0.0.1");
        String tls = ", tls: {certificates: [{certificate: \"%s\", key: \"%s\"}]}"
                .formatted(issued.certificate(), issued.key());
        try (Gateway gateway = TestGateways.start(
                """
                listeners: [PLAIN, SECURED]
                default_upstream: local
                local: {embedded_models: true}
                health: {warm_up: 0s}
                """.replace("PLAIN", LISTENER.formatted("")).replace("SECURED", LISTENER.formatted(tls)))) {
            List<InetSocketAddress> addresses = gateway.addresses();
            Script.Outcome outcome = Script.run(
                    "browser.sh",
                    "http://127.0.0.1:" + addresses.get(0).getPort(),
                    "https://localhost:" + addresses.get(1).getPort());
            System.out.println(outcome.text());
            assertThat(outcome.complaint()).isEmpty();
            assertThat(outcome.text())
                    .contains("grpc-web, text: stream", "connect-web: stream", "is not sent")
                    .endsWith("all passed\n");
            // Those of the allowed page, from each of its clients at both addresses, and the messages of
            // streams; the foreign page sent none.
            await().untilAsserted(() -> assertThat(
                            gateway.meters().find("isthmus.requests").tags("protocol", "grpc_web").timers().stream()
                                    .mapToLong(Timer::count)
                                    .sum())
                    .isEqualTo(2 * (9 + 3)));
        }
    }
}
