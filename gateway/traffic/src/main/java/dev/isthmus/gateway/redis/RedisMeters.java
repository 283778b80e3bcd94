package dev.isthmus.gateway.redis;

import dev.isthmus.gateway.metrics.ReplaceableMeters;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;

/** The meters of the connection to Redis. */
final class RedisMeters implements AutoCloseable {
    private final ReplaceableMeters meters;
    private final Counter answered;
    private final Counter timeouts;
    private final Counter failed;
    private final Counter lost;

    RedisMeters(MeterRegistry registry) {
        meters = new ReplaceableMeters(registry);
        answered = commands("answered");
        timeouts = commands("timeout");
        failed = commands("failed");
        lost = meters.add(Counter.builder("isthmus.shared.lost")
                .description("How often the Redis server was no longer used, as it failed or was slow")::register);
    }

    private Counter commands(String outcome) {
        return meters.add(Counter.builder("isthmus.shared.commands")
                .description("Commands to the Redis server that limits and ramps are shared in")
                .tag("outcome", outcome)::register);
    }

    void show(RedisConnection connection) {
        meters.add(
                Gauge.builder("isthmus.shared.up", connection, it -> it.answers() ? 1 : 0)
                                .description(
                                        "1 if the Redis server answers; 0 if limits are counted as shared.on_failure says")
                        ::register);
        meters.add(
                Gauge.builder("isthmus.shared.recovering", connection, it -> it.recovering() ? 1 : 0)
                                .description(
                                        "1 if the Redis server answers again, but not yet for as long as shared.recovery says")
                        ::register);
    }

    /** The server is not used any more. */
    void lost() {
        lost.increment();
    }

    void answered() {
        answered.increment();
    }

    void failed(boolean timeout) {
        (timeout ? timeouts : failed).increment();
    }

    @Override
    public void close() {
        meters.close();
    }
}
