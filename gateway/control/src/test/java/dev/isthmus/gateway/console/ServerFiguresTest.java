package dev.isthmus.gateway.console;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class ServerFiguresTest {
    private final MeterRegistry registry = new SimpleMeterRegistry();

    private JsonNode upstream() {
        ObjectNode document = JsonNodeFactory.instance.objectNode();
        return ServerFigures.addTo(document, ServerFigures.meters(registry))
                .path("upstreams")
                .path(0);
    }

    private void gauge(String name, int value) {
        Gauge.builder(name, () -> value).tag("upstream", "u").register(registry);
    }

    @Test
    void upstreamWithoutAQueue_hasNoFiguresOfIt() {
        gauge("isthmus.upstream.under.way", 7);
        assertThat(upstream().path("in_flight").asInt()).isEqualTo(7);
        assertThat(upstream().has("waiting")).isFalse();
        assertThat(upstream().has("queue_refused")).isFalse();
        assertThat(upstream().has("mean_wait")).isFalse();
        assertThat(upstream().has("hedged")).isFalse();
    }

    @Test
    void queue_hasWaitingAndRefusedCalls_andTheirMeanWait() {
        gauge("isthmus.upstream.queue.waiting", 3);
        Timer waits = Timer.builder("isthmus.upstream.queue.wait")
                .tag("upstream", "u")
                .register(registry);
        for (String cause : new String[] {"queue_full", "queue_timeout", "breaker"}) {
            Counter.builder("isthmus.upstream.rejected")
                    .tags("upstream", "u", "cause", cause)
                    .register(registry)
                    .increment(2);
        }
        assertThat(upstream().path("waiting").asInt()).isEqualTo(3);
        assertThat(upstream().path("queue_refused").asInt()).isEqualTo(4);
        assertThat(upstream().path("mean_wait").isNull()).isTrue();
        waits.record(Duration.ofSeconds(1));
        waits.record(Duration.ofSeconds(3));
        assertThat(upstream().path("mean_wait").asDouble()).isEqualTo(2.0);
    }
}
