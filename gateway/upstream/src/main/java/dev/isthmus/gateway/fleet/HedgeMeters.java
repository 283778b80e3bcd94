package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.metrics.ReplaceableMeters;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Tags;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;

/** What becomes of late calls of one cluster. */
final class HedgeMeters {

    /** What is counted. */
    enum HedgeEvent {
        /** A second attempt was sent. */
        SENT,
        /** The second attempt was answered first. */
        WON,
        /** The budget did not allow a second attempt. */
        BUDGET_EXHAUSTED,
        /** No other server could take the call. */
        NO_SERVER
    }

    private final Map<HedgeEvent, Counter> counters = new EnumMap<>(HedgeEvent.class);

    HedgeMeters(Tags upstream, ReplaceableMeters meters) {
        for (HedgeEvent event : HedgeEvent.values()) {
            counters.put(
                    event,
                    meters.add(Counter.builder("isthmus.upstream.hedges")
                            .description("Calls that took longer than most of their model (hedging). sent: also sent to"
                                    + " a second server; won: which answered first; budget_exhausted, no_server: not"
                                    + " sent")
                            .tags(upstream.and("event", event.name().toLowerCase(Locale.ROOT)))::register));
        }
    }

    void count(HedgeEvent event) {
        Counter counter = counters.get(event);
        if (counter != null) {
            counter.increment();
        }
    }
}
