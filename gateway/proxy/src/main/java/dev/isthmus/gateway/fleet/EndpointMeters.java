package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.metrics.ReplaceableMeters;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.function.LongSupplier;

/** The meters of one server while it is a member of its cluster. */
final class EndpointMeters implements AutoCloseable {
    private final ReplaceableMeters meters;

    /** @param queue whether the server's queue depth is polled */
    EndpointMeters(MeterRegistry registry, String upstream, Replica replica, LongSupplier nanoTime, boolean queue) {
        this.meters = new ReplaceableMeters(registry);
        Tags tags = Tags.of("upstream", upstream, "endpoint", replica.label());
        meters.add(Gauge.builder("isthmus.endpoint.healthy", replica, it -> it.usable(nanoTime.getAsLong()) ? 1 : 0)
                .description("1 if the server is eligible for calls: not known to be unready, and not ejected")
                .tags(tags)::register);
        meters.add(FunctionCounter.builder(
                        "isthmus.endpoint.ejections",
                        replica,
                        it -> it.ejection().count())
                .description("Ejections of the server because its calls failed")
                .tags(tags)::register);
        meters.add(Gauge.builder("isthmus.endpoint.under.way", replica, Replica::activeRequests)
                .description("Concurrent calls to the server")
                .tags(tags)::register);
        if (queue) {
            meters.add(Gauge.builder("isthmus.endpoint.pending", replica, it -> pending(it, nanoTime))
                    .description("Requests pending in the server; NaN if unknown")
                    .tags(tags)::register);
        }
    }

    private static double pending(Replica replica, LongSupplier nanoTime) {
        long pending = replica.load().pending(nanoTime.getAsLong());
        return pending < 0 ? Double.NaN : pending;
    }

    @Override
    public void close() {
        meters.close();
    }
}
