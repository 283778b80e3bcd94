package dev.isthmus.gateway.metrics;

import dev.isthmus.oip.ErrorCode;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** The meters of one operation of one route over one protocol. Used by all event loops. */
final class OperationMeters {
    /** From half a millisecond to a minute. */
    private static final Duration[] BUCKETS = LongStream.of(
                    500,
                    1_000,
                    2_500,
                    5_000,
                    10_000,
                    25_000,
                    50_000,
                    100_000,
                    250_000,
                    500_000,
                    1_000_000,
                    2_500_000,
                    5_000_000,
                    10_000_000,
                    30_000_000,
                    60_000_000)
            .mapToObj(micros -> Duration.ofNanos(TimeUnit.MICROSECONDS.toNanos(micros)))
            .toArray(Duration[]::new);
    /** The place of calls that ended well, after those of the error codes. */
    private static final int OK = ErrorCode.values().length;

    private final MeterRegistry registry;
    private final Tags tags;
    private final AtomicReferenceArray<@Nullable Timer> byCode = new AtomicReferenceArray<>(OK + 1);
    private final Timer reading;
    private final Timer waiting;
    private final Timer writing;
    private final DistributionSummary requestBytes;
    private final DistributionSummary responseBytes;
    private boolean closed;

    OperationMeters(MeterRegistry registry, Tags tags) {
        this.registry = registry;
        this.tags = tags;
        this.reading = phase("read");
        this.waiting = phase("upstream");
        this.writing = phase("write");
        this.requestBytes = bytes("isthmus.request.size", "Bodies of requests, decompressed");
        this.responseBytes = bytes("isthmus.response.size", "Bodies of answers, before compression");
    }

    private Timer phase(String name) {
        return Timer.builder("isthmus.request.phase")
                .description("Parts of a call: until its body is read, until its first answer, until its end")
                .tags(tags.and("phase", name))
                .register(registry);
    }

    private DistributionSummary bytes(String name, String description) {
        return DistributionSummary.builder(name)
                .description(description)
                .baseUnit("bytes")
                .tags(tags)
                .register(registry);
    }

    /**
     * A call has ended.
     *
     * @param code null where it ended well
     */
    void ended(MeteredCall call, @Nullable ErrorCode code, long nanos) {
        Timer timer = timer(code);
        if (timer == null) {
            return;
        }
        timer.record(nanos, TimeUnit.NANOSECONDS);
        requestBytes.record((double) call.requestBytes());
        responseBytes.record((double) call.responseBytes());
        record(reading, call.readNanos());
        record(waiting, call.upstreamNanos());
        record(writing, call.writeNanos(nanos));
    }

    private static void record(Timer phase, long nanos) {
        if (nanos >= 0) {
            phase.record(nanos, TimeUnit.NANOSECONDS);
        }
    }

    @SuppressWarnings("EnumOrdinal") // places in an array that lives as long as the enum does
    private @Nullable Timer timer(@Nullable ErrorCode code) {
        int place = code == null ? OK : code.ordinal();
        Timer known = byCode.get(place);
        return known == null ? register(place, code) : known;
    }

    private synchronized @Nullable Timer register(int place, @Nullable ErrorCode code) {
        if (closed) {
            return null;
        }
        Timer timer = Timer.builder("isthmus.requests")
                .description("Calls from their head to the end of their answer")
                .tags(tags.and("code", code == null ? "OK" : code.name()))
                .serviceLevelObjectives(BUCKETS)
                .register(registry);
        byCode.set(place, timer);
        return timer;
    }

    /** Takes the meters out of the registry: their route is gone. */
    synchronized void close() {
        closed = true;
        List<Meter> all = new ArrayList<>(List.of(reading, waiting, writing, requestBytes, responseBytes));
        for (int i = 0; i < byCode.length(); i++) {
            Timer timer = byCode.get(i);
            if (timer != null) {
                all.add(timer);
            }
        }
        all.forEach(registry::remove);
    }
}
