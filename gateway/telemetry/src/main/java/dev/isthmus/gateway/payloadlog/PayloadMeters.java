package dev.isthmus.gateway.payloadlog;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** The metrics of the payload log; they outlive its configurations. */
final class PayloadMeters {
    private final Counter delivered;
    private final Map<LossReason, Counter> lost = new EnumMap<>(LossReason.class);
    private final Map<MissingData, Counter> bare = new EnumMap<>(MissingData.class);
    private final AtomicLong queued = new AtomicLong();

    PayloadMeters(MeterRegistry meters) {
        delivered = Counter.builder("isthmus.payload.log.events")
                .description("Events written to the payload log")
                .register(meters);
        for (LossReason reason : LossReason.values()) {
            lost.put(
                    reason,
                    Counter.builder("isthmus.payload.log.dropped.events")
                            .description("Events of the payload log that were not written")
                            .tag("reason", reason.label())
                            .register(meters));
        }
        for (MissingData reason : MissingData.values()) {
            bare.put(
                    reason,
                    Counter.builder("isthmus.payload.log.events.without.data")
                            .description("Events of the payload log that have no data")
                            .tag("reason", reason.label())
                            .register(meters));
        }
        Gauge.builder("isthmus.payload.log.queued", queued, AtomicLong::get)
                .description("Memory of payloads that wait to be written")
                .baseUnit("bytes")
                .register(meters);
    }

    void delivered() {
        delivered.increment();
    }

    void lost(LossReason reason) {
        counter(lost, reason).increment();
    }

    void bare(MissingData reason) {
        counter(bare, reason).increment();
    }

    private static <R extends Enum<R>> Counter counter(Map<R, Counter> counters, R reason) {
        Counter counter = counters.get(reason);
        if (counter == null) {
            throw new IllegalStateException("no counter for " + reason);
        }
        return counter;
    }

    /** Adds the bytes that wait; negative if they wait no more. */
    void queued(long bytes) {
        queued.addAndGet(bytes);
    }
}
