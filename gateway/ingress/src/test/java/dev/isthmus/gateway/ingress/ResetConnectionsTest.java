package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.isthmus.gateway.net.Transport;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** A client that resets its connection anywhere in its first bytes is not logged above debug. */
class ResetConnectionsTest {
    private final ListAppender<ILoggingEvent> logged = new ListAppender<>();
    private final Logger log = (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);

    @BeforeEach
    void listen() {
        logged.start();
        log.addAppender(logged);
    }

    @AfterEach
    void stop() {
        log.detachAppender(logged);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "PR", "PRI ", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET", "GET /v2 HTTP/1.1\r\nHo"})
    void reset_isNotLogged(String sent) throws Exception {
        try (Ingress ingress = new Ingress(Transport.best(), new Calls(), 1_000)) {
            try (Ingress.Client other = ingress.connect()) {
                try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), ingress.port())) {
                    socket.getOutputStream().write(sent.getBytes(StandardCharsets.US_ASCII));
                    // The response proves that the bytes before were read: the reset arrives alone.
                    assertThat(other.get("/v2").read().status()).isEqualTo(200);
                    socket.setSoLinger(true, 0);
                }
                assertThat(other.get("/v2").read().status()).isEqualTo(200);
                assertThat(other.get("/v2").read().status()).isEqualTo(200);
            }
        }
        assertThat(logged.list)
                .filteredOn(event -> event.getLevel().isGreaterOrEqual(Level.WARN))
                .isEmpty();
    }
}
