package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Operation;
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
import java.util.stream.DoubleStream;
import org.jspecify.annotations.Nullable;

/** The meters of one operation of one route over one protocol. Thread-safe. */
final class OperationMeters {
    /** Upper bounds from half a millisecond to a minute. */
    static final Duration[] BUCKETS = DoubleStream.of(
                    0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000)
            .mapToObj(millis -> Duration.ofNanos((long) (millis * TimeUnit.MILLISECONDS.toNanos(1))))
            .toArray(Duration[]::new);
    /** The index of successful calls, after those of the error codes. */
    private static final int OK = ErrorCode.values().length;

    /** The time series of the sums: three phases of two, and two sums of bytes. */
    static final int SERIES = 3 * 2 + 2;
    /** The time series of a timer: its buckets, that of infinity, count, sum and maximum. */
    static final int TIMER_SERIES = BUCKETS.length + 4;

    private final MeterRegistry registry;
    private final SeriesBudget budget;
    private final Tags tags;
    private final AtomicReferenceArray<@Nullable Timer> byCode = new AtomicReferenceArray<>(OK + 1);
    private final Phase reading;
    private final Phase waiting;
    private final Phase writing;
    private final LongAdder requestBytes = new LongAdder();
    private final LongAdder responseBytes = new LongAdder();
    private final List<Meter> sums;
    private int series = SERIES;
    private boolean closed;

    /** @param budget of which {@link #SERIES} were taken */
    OperationMeters(MeterRegistry registry, SeriesBudget budget, Tags tags) {
        this.registry = registry;
        this.budget = budget;
        this.tags = tags;
        this.reading = new Phase();
        this.waiting = new Phase();
        this.writing = new Phase();
        this.sums = List.of(
                register("read", reading),
                register("upstream", waiting),
                register("write", writing),
                register("isthmus.request.bytes", "Bodies of requests, uncompressed", requestBytes),
                register(
                        "isthmus.response.bytes",
                        "Bodies of responses, uncompressed; 0 for health and metadata",
                        responseBytes));
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
                .description(
                        "Phases of a call. read: until the body is complete (0 for unary gRPC); upstream: from then to the first"
                                + " response or the failure, with transcoding, waits and attempts; write: from then to the end"
                                + " of the response")
                .tags(tags.and("phase", name))
                .register(registry);
    }

    private Meter register(String name, String description, LongAdder bytes) {
        return FunctionCounter.builder(name, bytes, LongAdder::sum)
                .description(description)
                .tags(tags)
                .register(registry);
    }

    /** Records a call that has ended; false if there may be no time series for it. */
    boolean ended(CallContext call) {
        Timer timer = timer(call.code());
        if (timer == null) {
            return false;
        }
        ExemplarSpan.record(timer, call.totalNanos(), call.span());
        if (!(call.operation() instanceof Operation.InferStream)) {
            // Its messages have them.
            requestBytes.add(call.requestBytes());
            responseBytes.add(call.responseBytes());
        }
        reading.record(call.requestNanos());
        waiting.record(call.upstreamNanos());
        writing.record(call.responseWriteNanos());
        return true;
    }

    @SuppressWarnings("EnumOrdinal") // indexes an array that lives as long as the enum
    private @Nullable Timer timer(@Nullable ErrorCode code) {
        int index = code == null ? OK : code.ordinal();
        Timer existing = byCode.get(index);
        return existing == null ? register(index, code) : existing;
    }

    private synchronized @Nullable Timer register(int index, @Nullable ErrorCode code) {
        Timer existing = byCode.get(index);
        if (existing != null) {
            return existing;
        }
        if (closed || !budget.take(TIMER_SERIES)) {
            return null;
        }
        series += TIMER_SERIES;
        Timer timer = Timer.builder("isthmus.requests")
                .description("Duration of calls, from the head of the request to the end of the response")
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
        budget.release(series);
        series = 0;
    }
}
