package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.net.TimedEventLoop;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.SingleThreadEventExecutor;
import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** The meters of the event loops: how late each runs a task that is due, how many tasks wait, and turns. */
public final class EventLoopMetrics {
    private static final long INTERVAL_NANOS = 250_000_000;
    private static final Duration[] BUCKETS = Stream.of(1, 2, 5, 10, 25, 50, 100, 250, 500, 1000)
            .map(Duration::ofMillis)
            .toArray(Duration[]::new);

    private EventLoopMetrics() {}

    /** Registers the meters, and measures until the loops end. */
    public static void register(Iterable<EventExecutor> loops, MeterRegistry registry) {
        List<SingleThreadEventExecutor> all = StreamSupport.stream(loops.spliterator(), false)
                .filter(SingleThreadEventExecutor.class::isInstance)
                .map(SingleThreadEventExecutor.class::cast)
                .toList();
        Gauge.builder("isthmus.event.loops", all, List::size)
                .strongReference(true)
                .description("Event loops")
                .register(registry);
        Gauge.builder("isthmus.event.loop.pending.tasks", all, EventLoopMetrics::pending)
                .strongReference(true)
                .description("Tasks that wait for an event loop, all loops together")
                .register(registry);
        Timer delay = Timer.builder("isthmus.event.loop.delay")
                .description("How late an event loop runs a task that is due, measured four times a second on each")
                .serviceLevelObjectives(BUCKETS)
                .register(registry);
        all.forEach(loop -> measure(loop, delay));
        if (registry instanceof PrometheusMeterRegistry scraped) {
            // Turns are too many for a Timer: the loops count them, and a scrape reads the counts.
            scraped.getPrometheusRegistry().register(() -> turns(loops));
        }
    }

    private static HistogramSnapshot turns(Iterable<EventExecutor> loops) {
        double[] bounds = TimedEventLoop.bounds();
        long[] turns = new long[bounds.length];
        double seconds = 0;
        for (EventExecutor each : loops) {
            seconds += each instanceof TimedEventLoop loop ? loop.addTo(turns) : 0;
        }
        return HistogramSnapshot.builder()
                .name("isthmus_event_loop_turn_seconds")
                .help("How long an event loop handles what is due, from the end of a wait to the next one; meanwhile"
                        + " everything else on that loop waits")
                .dataPoint(HistogramSnapshot.HistogramDataPointSnapshot.builder()
                        .classicHistogramBuckets(ClassicHistogramBuckets.of(bounds, turns))
                        .sum(seconds)
                        .build())
                .build();
    }

    private static double pending(List<SingleThreadEventExecutor> loops) {
        return loops.stream().mapToLong(SingleThreadEventExecutor::pendingTasks).sum();
    }

    /** Records how late the loop runs this task, which is then due again. */
    private static void measure(EventExecutor loop, Timer delay) {
        long due = loop.ticker().nanoTime() + INTERVAL_NANOS;
        loop.schedule(
                () -> {
                    delay.record(Math.max(0, loop.ticker().nanoTime() - due), TimeUnit.NANOSECONDS);
                    measure(loop, delay);
                },
                INTERVAL_NANOS,
                TimeUnit.NANOSECONDS);
    }
}
