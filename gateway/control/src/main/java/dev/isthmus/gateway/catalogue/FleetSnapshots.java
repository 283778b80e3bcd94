package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.routing.Target;
import dev.isthmus.oip.ModelRef;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/** Takes a snapshot of what is known when it has changed. Used on the catalogue's loop, but for {@link #now()}. */
final class FleetSnapshots {
    private final Catalogue.Settings rules;
    private final ModelLocations places;
    private final ServerRecords watches;
    private final Executor loop;
    private boolean awaited;
    private volatile FleetSnapshot snapshot;

    FleetSnapshots(Catalogue.Settings rules, ModelLocations places, ServerRecords watches, Executor loop) {
        this.rules = rules;
        this.places = places;
        this.watches = watches;
        this.loop = loop;
        this.snapshot = taken();
    }

    /** The newest, on any thread. */
    FleetSnapshot now() {
        return snapshot;
    }

    /** Something is not as it was. Many changes at once make one snapshot. */
    void changed() {
        if (!awaited) {
            awaited = true;
            try {
                loop.execute(this::take);
            } catch (RejectedExecutionException closed) {
                // The gateway is being closed: nobody looks any more.
                return;
            }
        }
    }

    private void take() {
        awaited = false;
        snapshot = taken();
    }

    private FleetSnapshot taken() {
        Map<String, Boolean> known = new HashMap<>();
        Map<String, Boolean> judged = new HashMap<>();
        for (String name : places.configured()) {
            ModelLocation place = places.of(ModelRef.of(name));
            boolean ready = tally(place).satisfies(place.policy());
            judged.put(name, ready);
            if (asked(place)) {
                known.put(name, ready);
            }
        }
        ReadinessReport verdict = ReadinessReport.of(rules.policy(), watches.ready(), judged);
        return new FleetSnapshot(
                watches.seen(),
                verdict,
                known,
                FleetExtensions.of(rules.self(), watches.extensions()),
                watches.settled());
    }

    private ReadyCount tally(ModelLocation place) {
        ReadyCount tally = ReadyCount.NONE;
        for (Target target : place.targets()) {
            List<Boolean> states = watches.of(target.upstream()).stream()
                    .map(watch -> watch.isReady(target.model()))
                    .toList();
            tally = tally.plus(ReadyCount.of(states));
        }
        return tally;
    }

    private boolean asked(ModelLocation place) {
        return place.targets().stream()
                .allMatch(target ->
                        watches.of(target.upstream()).stream().allMatch(watch -> watch.knows(target.model())));
    }
}
