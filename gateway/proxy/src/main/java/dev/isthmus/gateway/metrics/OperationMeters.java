package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.oip.ErrorCode;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** The meters of one operation of one route over one protocol. Thread-safe. */
final class OperationMeters {
    /** Upper bounds from half a millisecond to a minute. */
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
    /** The index of successful calls, after those of the error codes. */
    private static final int OK = ErrorCode.values().length;

    private final MeterRegistry registry;
    private final Tags tags;
    private final AtomicReferenceArray<@Nullable Timer> byCode = new AtomicReferenceArray<>(OK + 1);
    private final Phase reading;
    private final Phase waiting;
    private final Phase writing;
    private final LongAdder requestBytes = new LongAdder();
    private final LongAdder responseBytes = new LongAdder();
    private final List<Meter> sums;
    private boolean closed;

    OperationMeters(MeterRegistry registry, Tags tags) {
        this.registry = registry;
        this.tags = tags;
        this.reading = new Phase();
        this.waiting = new Phase();
        this.writing = new Phase();
        this.sums = List.of(
                register("read", reading),
                register("upstream", waiting),
                register("write", writing),
                register("isthmus.request.bytes", "Bodies of requests, decompressed", requestBytes),
                register("isthmus.response.bytes", "Bodies of responses, before compression", responseBytes));
    }

    /** A sum and a count, enough for a mean, at the cost of two additions per call. */
    private static final class Phase {
        private final LongAdder calls = new LongAdder();
        private final LongAdder nanos = new LongAdder();

        void record(long took) {
            if (took >= 0) {
                calls.increment();
                nanos.add(took);
            }
        }
    }

    private Meter register(String name, Phase phase) {
        return FunctionTimer.builder(
                        "isthmus.request.phase", phase, p -> p.calls.sum(), p -> p.nanos.sum(), TimeUnit.NANOSECONDS)
                .description("Phases of a call: reading the body, waiting for the upstream, writing the response")
                .tags(tags.and("phase", name))
                .register(registry);
    }

    private Meter register(String name, String description, LongAdder bytes) {
        return FunctionCounter.builder(name, bytes, LongAdder::sum)
                .description(description)
                .tags(tags)
                .register(registry);
    }

    /** Records a call that has ended. */
    void ended(CallContext call) {
        Timer timer = timer(call.code());
        if (timer == null) {
            return;
        }
        ExemplarSpan.record(timer, call.totalNanos(), call.span());
        requestBytes.add(call.requestBytes());
        responseBytes.add(call.responseBytes());
        reading.record(call.requestNanos());
        waiting.record(call.upstreamNanos());
        writing.record(call.responseWriteNanos());
    }

    @SuppressWarnings("EnumOrdinal") // indexes an array that lives as long as the enum
    private @Nullable Timer timer(@Nullable ErrorCode code) {
        int index = code == null ? OK : code.ordinal();
        Timer existing = byCode.get(index);
        return existing == null ? register(index, code) : existing;
    }

    private synchronized @Nullable Timer register(int index, @Nullable ErrorCode code) {
        if (closed) {
            return null;
        }
        Timer timer = Timer.builder("isthmus.requests")
                .description("Duration of calls, from the request's head to the end of the response")
                .tags(tags.and("code", code == null ? "OK" : code.name()))
                .serviceLevelObjectives(BUCKETS)
                .register(registry);
        byCode.set(index, timer);
        return timer;
    }

    /** Unregisters the meters of a removed route. */
    synchronized void close() {
        closed = true;
        List<Meter> all = new ArrayList<>(sums);
        for (int i = 0; i < byCode.length(); i++) {
            Timer timer = byCode.get(i);
            if (timer != null) {
                all.add(timer);
            }
        }
        all.forEach(registry::remove);
    }
}
