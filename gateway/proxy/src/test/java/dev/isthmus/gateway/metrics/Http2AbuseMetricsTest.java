package dev.isthmus.gateway.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.isthmus.gateway.http2.AbuseListener;
import dev.isthmus.gateway.http2.AbuseRule;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** A peer that opens connection after connection to have them closed does not flood the log. */
class Http2AbuseMetricsTest {
    private final Logger log = (Logger) LoggerFactory.getLogger(Http2AbuseMetrics.class);
    private final ListAppender<ILoggingEvent> told = new ListAppender<>();
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private long now;

    @BeforeEach
    void listen() {
        told.start();
        log.addAppender(told);
        log.setAdditive(false);
    }

    @AfterEach
    void stop() {
        log.detachAppender(told);
        log.setAdditive(true);
    }

    @Test
    void linesOfASecond_areBounded_whileAllAreCounted() {
        AbuseListener listener = new Http2AbuseMetrics(registry, () -> now).ofClients();
        InetSocketAddress peer = new InetSocketAddress(7);
        for (int i = 0; i < 250; i++) {
            listener.abused(peer, AbuseRule.HEADER_BLOCK, "much");
        }
        assertThat(told.list).hasSize(100);
        now += 1_000_000_000L;
        listener.abused(peer, AbuseRule.HEADER_BLOCK, "much");
        assertThat(told.list).hasSize(101);
        assertThat(told.list.getLast().getFormattedMessage()).endsWith("much (150 similar lines were suppressed)");
        assertThat(registry.get("isthmus.http2.abuse")
                        .tags("side", "client", "rule", "header_block")
                        .counter()
                        .count())
                .isEqualTo(251);
    }
}
