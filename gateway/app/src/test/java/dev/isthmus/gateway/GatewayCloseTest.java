package dev.isthmus.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.Listener;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class GatewayCloseTest {

    @Test
    void close_again_doesNothing() throws Exception {
        Gateway gateway = Gateway.start(GatewayConfig.embedded().withListener(Listener.DEFAULT.at("127.0.0.1", 0)));
        gateway.close();
        assertThatCode(gateway::close).doesNotThrowAnyException();
    }

    @Test
    void stop_isLogged_withWhy() throws Exception {
        Logger log = (Logger) LoggerFactory.getLogger(Gateway.class);
        ListAppender<ILoggingEvent> logged = new ListAppender<>();
        logged.start();
        log.setLevel(Level.INFO);
        log.addAppender(logged);
        try {
            Gateway gateway = Gateway.start(GatewayConfig.embedded().withListener(Listener.DEFAULT.at("127.0.0.1", 0)));
            gateway.stop("SIGTERM");
        } finally {
            log.detachAppender(logged);
            log.setLevel(null);
        }
        assertThat(logged.list)
                .extracting(ILoggingEvent::getFormattedMessage)
                .contains("stopping: SIGTERM; active calls: 0", "stopped");
    }

    /** One thread closes configurations, and checks ramps and certificates. A reload may take minutes. */
    @Test
    void configuration_isClosedWhileAReloadIsUnderWay() throws Exception {
        try (Gateway gateway =
                Gateway.start(GatewayConfig.embedded().withListener(Listener.DEFAULT.at("127.0.0.1", 0)))) {
            // A reload holds it.
            synchronized (gateway) {
                CompletableFuture.runAsync(gateway.current()::close).get(20, TimeUnit.SECONDS);
            }
        }
    }
}
