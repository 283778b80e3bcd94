package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.oip.ErrorCode;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/** The outcomes of one route's inferences at each of its targets. Thread-safe. */
public final class TargetMeters implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(TargetMeters.class);
    static final long QUIET_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final int SERVER_ERRORS = 500;
    private static final Duration[] BUCKETS = Stream.of(1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000)
            .map(Duration::ofMillis)
            .toArray(Duration[]::new);

    private final ReplaceableMeters meters;
    private final String model;
    private final LongSupplier nanoTime;
    private final List<TargetMeter> targets;

    /**
     * The labels of a target.
     *
     * @param name unique within the route
     * @param version empty if the client chooses it
     */
    public record TargetLabels(String name, String upstream, String version) {}

    /** The meters of one target. It logs that calls fail with server errors, and that none has failed for a minute. */
    public final class TargetMeter {
        private final TargetLabels target;
        private final Counter ok;
        private final Counter clientErrors;
        private final Counter serverErrors;
        private final @Nullable Timer responses;
        private volatile boolean failing;
        // Guarded by this.
        private long failures;
        private long lastNanos;

        private TargetMeter(TargetLabels target, boolean timed) {
            Tags tags = Tags.of(
                    "model",
                    model,
                    "target",
                    target.name(),
                    "upstream",
                    target.upstream(),
                    "version",
                    target.version());
            this.target = target;
            this.ok = counter(tags, "ok");
            this.clientErrors = counter(tags, "client_error");
            this.serverErrors = counter(tags, "server_error");
            this.responses = timed ? timer(tags) : null;
        }

        /** An inference has ended without being cancelled by its client. */
        public void ended(@Nullable ErrorCode failure) {
            if (failure == null) {
                ok.increment();
                if (failing) {
                    recover();
                }
            } else if (failure.httpStatus() < SERVER_ERRORS) {
                clientErrors.increment();
            } else {
                serverErrors.increment();
                failed(failure);
            }
        }

        private void failed(ErrorCode code) {
            synchronized (this) {
                lastNanos = nanoTime.getAsLong();
                failures++;
                failing = true;
            }
            event(LOG.atWarn())
                    .addKeyValue("code", code)
                    .log(
                            "model '{}', target '{}' (upstream '{}'): a call failed: {}; GET /debug/errors has the texts",
                            model,
                            target.name(),
                            target.upstream(),
                            code);
        }

        private synchronized void recover() {
            if (failing && nanoTime.getAsLong() - lastNanos >= QUIET_NANOS) {
                failing = false;
                event(LOG.atInfo())
                        .log(
                                "model '{}', target '{}' (upstream '{}'): calls succeed again, after {} failures",
                                model,
                                target.name(),
                                target.upstream(),
                                failures);
                failures = 0;
            }
        }

        private LoggingEventBuilder event(LoggingEventBuilder event) {
            return event.addMarker(RepeatingLogEvent.MARKER)
                    .addKeyValue("model", model)
                    .addKeyValue("target", target.name())
                    .addKeyValue("upstream", target.upstream());
        }

        /** Records the time from sending the request to receiving the response, if the route's targets are timed. */
        public void responded(long nanos) {
            if (responses != null) {
                responses.record(nanos, TimeUnit.NANOSECONDS);
            }
        }
    }

    /**
     * @param model of the route, as configured
     * @param timed whether response times are measured, which a ramp needs
     */
    public TargetMeters(
            MeterRegistry registry, LongSupplier nanoTime, String model, List<TargetLabels> targets, boolean timed) {
        this.meters = new ReplaceableMeters(registry);
        this.model = model;
        this.nanoTime = nanoTime;
        this.targets =
                targets.stream().map(each -> new TargetMeter(each, timed)).toList();
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
            if (each.target.name().equals(target)) {
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
