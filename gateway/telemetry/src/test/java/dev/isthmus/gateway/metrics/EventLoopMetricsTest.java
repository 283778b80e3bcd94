package dev.isthmus.gateway.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.net.EventLoops;
import dev.isthmus.gateway.net.TimedEventLoop;
import dev.isthmus.gateway.net.Transport;
import io.micrometer.core.instrument.Clock;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.EventExecutor;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot.HistogramDataPointSnapshot;
import org.junit.jupiter.api.Test;

class EventLoopMetricsTest {
    private final PrometheusRegistry registry = new PrometheusRegistry();

    @Test
    void turnsOfAllLoops_areOneHistogram() throws Exception {
        EventLoopGroup loops = EventLoops.start(Transport.best());
        try {
            EventLoopMetrics.register(
                    loops, new PrometheusMeterRegistry(PrometheusConfig.DEFAULT, registry, Clock.SYSTEM));
            int number = 0;
            for (EventExecutor loop : loops) {
                loop.submit(() -> {}).get();
                number++;
            }
            int all = number;
            await().untilAsserted(() -> assertThat(turns().getCount()).isGreaterThanOrEqualTo(all));
            assertThat(turns().getSum()).isPositive();
            assertThat(turns().getClassicBuckets().size()).isEqualTo(TimedEventLoop.bounds().length);
        } finally {
            EventLoops.stop(loops);
        }
    }

    private HistogramDataPointSnapshot turns() {
        HistogramSnapshot turns = (HistogramSnapshot)
                registry.scrape("isthmus_event_loop_turn_seconds"::equals).get(0);
        assertThat(turns.getMetadata().getPrometheusName()).isEqualTo("isthmus_event_loop_turn_seconds");
        return turns.getDataPoints().getFirst();
    }
}
