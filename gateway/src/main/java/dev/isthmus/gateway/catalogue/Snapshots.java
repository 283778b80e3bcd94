package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.routing.Target;
import dev.isthmus.oip.ModelRef;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/** Takes a snapshot of what is known when it has changed. Used on the catalogue's loop, but for {@link #now()}. */
final class Snapshots {
    private final Catalogue.Rules rules;
    private final Places places;
    private final Watches watches;
    private final Executor loop;
    private boolean awaited;
    private volatile Snapshot snapshot;

    Snapshots(Catalogue.Rules rules, Places places, Watches watches, Executor loop) {
        this.rules = rules;
        this.places = places;
        this.watches = watches;
        this.loop = loop;
        this.snapshot = taken();
    }

    /** The newest, on any thread. */
    Snapshot now() {
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

    private Snapshot taken() {
        Map<String, Boolean> known = new HashMap<>();
        Map<String, Boolean> judged = new HashMap<>();
        for (String name : places.configured()) {
            Place place = places.of(ModelRef.of(name));
            boolean ready = place.policy().ready(tally(place));
            judged.put(name, ready);
            if (asked(place)) {
                known.put(name, ready);
            }
        }
        ServerReadiness.Verdict verdict = rules.policy().judge(watches.ready(), judged);
        return new Snapshot(
                watches.seen(),
                verdict,
                known,
                FleetExtensions.of(rules.self(), watches.extensions()),
                watches.settled());
    }

    private Tally tally(Place place) {
        Tally tally = Tally.NONE;
        for (Target target : place.targets()) {
            List<Boolean> states = watches.of(target.upstream()).stream()
                    .map(watch -> watch.isReady(target.model()))
                    .toList();
            tally = tally.plus(Tally.of(states));
        }
        return tally;
    }

    private boolean asked(Place place) {
        return place.targets().stream()
                .allMatch(target ->
                        watches.of(target.upstream()).stream().allMatch(watch -> watch.knows(target.model())));
    }
}
