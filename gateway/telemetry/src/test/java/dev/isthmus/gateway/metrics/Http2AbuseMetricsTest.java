package dev.isthmus.gateway.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.isthmus.gateway.http2.AbuseListener;
import dev.isthmus.gateway.http2.AbuseRule;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class Http2AbuseMetricsTest {
    private final Logger log = (Logger) LoggerFactory.getLogger(Http2AbuseMetrics.class);
    private final ListAppender<ILoggingEvent> told = new ListAppender<>();
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

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
    void abuse_isCounted_andLoggedAsWhatMayRepeat() {
        AbuseListener listener = new Http2AbuseMetrics(registry).ofClients();
        InetSocketAddress peer = new InetSocketAddress(7);
        listener.abused(peer, AbuseRule.HEADER_BLOCK, "much");
        assertThat(told.list).singleElement().satisfies(event -> {
            assertThat(event.getFormattedMessage()).contains("header_block: much; ");
            assertThat(event.getMarkerList()).contains(RepeatingLogEvent.MARKER);
        });
        assertThat(registry.get("isthmus.http2.abuse")
                        .tags("side", "client", "rule", "header_block")
                        .counter()
                        .count())
                .isEqualTo(1);
    }
}
