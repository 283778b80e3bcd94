package dev.isthmus.gateway.metrics;

import dev.isthmus.oip.ErrorCode;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The outcomes of one route's inferences at each of its targets. Thread-safe. */
public final class TargetMeters implements AutoCloseable {
    private static final int SERVER_ERRORS = 500;
    private static final Duration[] BUCKETS = Stream.of(1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000)
            .map(Duration::ofMillis)
            .toArray(Duration[]::new);

    private final ReplaceableMeters meters;
    private final List<TargetMeter> targets = new ArrayList<>();

    /**
     * The labels of a target.
     *
     * @param name unique within the route
     * @param version empty if the client chooses it
     */
    public record TargetLabels(String name, String upstream, String version) {}

    /** The meters of one target. */
    public final class TargetMeter {
        private final String name;
        private final Counter ok;
        private final Counter clientErrors;
        private final Counter serverErrors;
        private final @Nullable Timer responses;
        private final FailureLog log;

        private TargetMeter(String name, Tags tags, boolean timed, FailureLog log) {
            this.log = log;
            this.name = name;
            this.ok = counter(tags, "ok");
            this.clientErrors = counter(tags, "client_error");
            this.serverErrors = counter(tags, "server_error");
            this.responses = timed ? timer(tags) : null;
        }

        /** An inference has ended without being cancelled by its client. */
        public void ended(@Nullable ErrorCode failure) {
            if (failure == null) {
                ok.increment();
                log.succeeded();
            } else if (failure.httpStatus() < SERVER_ERRORS) {
                clientErrors.increment();
            } else {
                serverErrors.increment();
                log.failed(failure);
            }
        }

        /** Records the time from sending the request to receiving the response, if the route's targets are timed. */
        public void responded(long nanos) {
            if (responses != null) {
                responses.record(nanos, TimeUnit.NANOSECONDS);
            }
        }
    }

    /** @param timed whether response times are measured, which a ramp needs */
    public TargetMeters(
            MeterRegistry registry, LongSupplier nanoTime, String model, List<TargetLabels> targets, boolean timed) {
        this.meters = new ReplaceableMeters(registry);
        for (TargetLabels each : targets) {
            Tags tags = Tags.of(
                    "model", model, "target", each.name(), "upstream", each.upstream(), "version", each.version());
            this.targets.add(new TargetMeter(each.name(), tags, timed, new FailureLog(model, each, nanoTime)));
        }
    }

    private Counter counter(Tags tags, String outcome) {
        return meters.add(Counter.builder("isthmus.target.requests")
                .description(
                        "Inferences by the target that they were sent to first: unary, each request of a stream, generate;"
                                + " cancelled ones excluded. A ramp is judged by server_error")
                .tags(tags.and("outcome", outcome))::register);
    }

    private Timer timer(Tags tags) {
        return meters.add(Timer.builder("isthmus.target.answer")
                .description(
                        "Response time of a target of a route with a ramp, without server errors: of a stream until the"
                                + " first response; a ramp is judged by its 95th percentile")
                .tags(tags)
                .serviceLevelObjectives(BUCKETS)::register);
    }

    /** Returns a target's meters, by linear search; null if the route has no such target. */
    public @Nullable TargetMeter of(String target) {
        for (TargetMeter each : targets) {
            if (each.name.equals(target)) {
                return each;
            }
        }
        return null;
    }

    @Override
    public void close() {
        meters.close();
    }
}
