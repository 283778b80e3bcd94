package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.metrics.ReplaceableMeters;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** What becomes of calls that must wait for one cluster. */
final class QueueMeters {

    /** Why a call does not wait, or no longer. */
    enum QueueRefusal {
        /** The caller has as many waiting calls as it may have. */
        CALLER_FULL,
        /** It gave way to a caller with fewer waiting calls. */
        DISPLACED,
        /** As many calls wait as may. */
        FULL,
        /** It waited until the time was over. */
        TIMEOUT,
        /** It would have waited longer than its time. */
        TOO_LATE
    }

    private static final Duration[] BUCKETS =
            List.of(1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 60_000).stream()
                    .map(Duration::ofMillis)
                    .toArray(Duration[]::new);

    private final Map<QueueRefusal, Counter> refusals = new EnumMap<>(QueueRefusal.class);
    private final Timer waits;
    private final Runnable rejected;

    /** @param rejected notified of each refusal: it is one of the upstream's */
    QueueMeters(Tags upstream, ReplaceableMeters meters, CallQueue queue, Runnable rejected) {
        this.rejected = rejected;
        meters.add(Gauge.builder("isthmus.upstream.queue.waiting", queue, CallQueue::size)
                .description("Calls that wait for the upstream (queue)")
                .tags(upstream)::register);
        waits = meters.add(Timer.builder("isthmus.upstream.queue.wait")
                .description("How long calls waited that were then sent (queue); calls that did not wait do not count")
                .tags(upstream)
                .serviceLevelObjectives(BUCKETS)::register);
        for (QueueRefusal reason : QueueRefusal.values()) {
            refusals.put(
                    reason,
                    meters.add(Counter.builder("isthmus.upstream.queue.refused")
                            .description("Calls that were refused in place of waiting, or of waiting longer (queue)."
                                    + " caller_full: max_waiting_per_caller; full: max_waiting; displaced: gave way to a"
                                    + " caller with fewer waiting calls; too_late: would have waited longer than"
                                    + " max_wait or the deadline; timeout: has waited that long")
                            .tags(upstream.and("reason", reason.name().toLowerCase(Locale.ROOT)))::register));
        }
    }

    void waited(long nanos) {
        waits.record(nanos, TimeUnit.NANOSECONDS);
    }

    void refused(QueueRefusal reason) {
        Counter counter = refusals.get(reason);
        if (counter != null) {
            counter.increment();
        }
        rejected.run();
    }
}
