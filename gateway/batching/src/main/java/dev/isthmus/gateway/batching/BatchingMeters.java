package dev.isthmus.gateway.batching;

import dev.isthmus.gateway.metrics.LabelledCounters;
import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.gateway.upstream.ConnectionCounts.DurationSum;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;

/** What becomes of the requests of one route. Thread-safe. */
final class BatchingMeters implements AutoCloseable {
    private final ReplaceableMeters meters;
    private final Counter joined;
    private final Counter alone;
    private final Counter calls;
    private final Counter failed;
    private final Counter rows;
    private final Map<PlainReason, Counter> plain;
    private final DurationSum waits = new DurationSum();

    /**
     * @param route its key
     * @param limit the number of requests that are joined at most now
     */
    BatchingMeters(MeterRegistry registry, String route, IntSupplier limit) {
        this.meters = new ReplaceableMeters(registry);
        Tags model = Tags.of("model", route);
        this.joined = requests(model.and("outcome", "joined"));
        this.alone = requests(model.and("outcome", "alone"));
        this.plain = LabelledCounters.of(PlainReason.class, reason -> requests(model.and("outcome", reason.label())));
        this.calls = meters.add(Counter.builder("isthmus.batching.calls")
                .description("Calls of two or more requests that were joined")
                .tags(model)::register);
        this.failed = separated(model.and("reason", "failed"));
        this.rows = separated(model.and("reason", "rows"));
        meters.add(FunctionTimer.builder(
                        "isthmus.batching.wait", waits, DurationSum::count, DurationSum::nanos, TimeUnit.NANOSECONDS)
                .description("How long requests waited for others; those that did not wait do not count")
                .tags(model)::register);
        meters.add(Gauge.builder("isthmus.batching.limit", limit::getAsInt)
                .description("How many requests are joined at most now, as the server gains by it; of a pattern, the"
                        + " most of its models")
                .tags(model)::register);
    }

    private Counter requests(Tags tags) {
        return meters.add(Counter.builder("isthmus.batching.requests")
                .description("Requests of models with batching. joined: sent in one call with others; alone: nothing to"
                        + " wait for, or none came; others: sent alone for this reason")
                .tags(tags)::register);
    }

    private Counter separated(Tags tags) {
        return meters.add(Counter.builder("isthmus.batching.separated")
                .description("Joined calls whose requests were sent again, each alone. failed: the call failed; rows:"
                        + " its response did not have a row for each row")
                .tags(tags)::register);
    }

    void waited(long nanos) {
        waits.add(nanos);
    }

    void alone() {
        alone.increment();
    }

    void joined(int requests) {
        joined.increment(requests);
        calls.increment();
    }

    void plain(PlainReason reason) {
        LabelledCounters.increment(plain, reason);
    }

    void failed() {
        failed.increment();
    }

    void withoutRows() {
        rows.increment();
    }

    @Override
    public void close() {
        meters.close();
    }
}
