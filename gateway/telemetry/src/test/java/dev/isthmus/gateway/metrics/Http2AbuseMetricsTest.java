package dev.isthmus.gateway.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.http2.AbuseListener;
import dev.isthmus.gateway.http2.AbuseRule;
import dev.isthmus.gateway.net.LoggedEvents;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class Http2AbuseMetricsTest {
    @RegisterExtension
    final LoggedEvents logged = new LoggedEvents(Http2AbuseMetrics.class.getName());

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

    @Test
    void abuse_isCounted_andLoggedAsWhatMayRepeat() {
        AbuseListener listener = new Http2AbuseMetrics(registry).ofClients();
        InetSocketAddress peer = new InetSocketAddress(7);
        listener.abused(peer, AbuseRule.HEADER_BLOCK, "much");
        assertThat(logged.all()).singleElement().satisfies(event -> {
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
