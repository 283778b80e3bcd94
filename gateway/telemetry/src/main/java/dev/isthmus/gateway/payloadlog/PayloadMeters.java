package dev.isthmus.gateway.payloadlog;

import dev.isthmus.gateway.metrics.LabelledCounters;
import dev.isthmus.gateway.payloadlog.EventSink.LossReason;
import dev.isthmus.gateway.payloadlog.PayloadEvent.MissingData;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** The metrics of the payload log; they outlive its configurations. */
final class PayloadMeters {
    final Counter delivered;
    final Map<LossReason, Counter> lost;
    /** Events without data. */
    final Map<MissingData, Counter> bare;
    /** Bytes that wait. */
    final AtomicLong queued = new AtomicLong();

    PayloadMeters(MeterRegistry meters) {
        delivered = Counter.builder("isthmus.payload.log.events")
                .description("Events written to the payload log")
                .register(meters);
        lost = LabelledCounters.of(
                LossReason.class,
                reason -> Counter.builder("isthmus.payload.log.dropped.events")
                        .description("Events of the payload log that were not written")
                        .tag("reason", reason.label())
                        .register(meters));
        bare = LabelledCounters.of(
                MissingData.class,
                reason -> Counter.builder("isthmus.payload.log.events.without.data")
                        .description("Events of the payload log that have no data")
                        .tag("reason", reason.label())
                        .register(meters));
        Gauge.builder("isthmus.payload.log.queued", queued, AtomicLong::get)
                .description("Memory of payloads that wait to be written")
                .baseUnit("bytes")
                .register(meters);
    }
}
