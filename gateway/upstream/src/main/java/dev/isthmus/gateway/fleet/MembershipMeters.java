package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.metrics.ReplaceableMeters;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import org.jspecify.annotations.Nullable;

/** The meters of an upstream's set of servers and of the look-ups of their names. */
final class MembershipMeters implements AutoCloseable {
    private final ReplaceableMeters meters;

    /** @param registration null without host names */
    MembershipMeters(
            MeterRegistry registry,
            String upstream,
            ReplicaMembership membership,
            Discovery.@Nullable Registration registration) {
        this.meters = new ReplaceableMeters(registry);
        Tags tags = Tags.of("upstream", upstream);
        meters.add(Gauge.builder(
                        "isthmus.upstream.endpoints",
                        membership,
                        it -> it.replicas().size())
                .description("Servers of the upstream")
                .tags(tags)::register);
        if (registration != null) {
            lookUps(tags.and("result", "ok"), registration, true);
            lookUps(tags.and("result", "failed"), registration, false);
        }
    }

    private void lookUps(Tags tags, Discovery.Registration registration, boolean success) {
        meters.add(FunctionCounter.builder("isthmus.dns.lookups", registration, it -> it.lookUps(success))
                .description("Look-ups of the host names of an upstream's servers; after a failure the last result"
                        + " stays")
                .tags(tags)::register);
    }

    @Override
    public void close() {
        meters.close();
    }
}
