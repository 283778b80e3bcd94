package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.routing.Target;
import dev.isthmus.oip.ModelRef;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Takes a new snapshot when the state has changed. Used on the catalogue's loop, except for {@link #now()}. */
final class FleetSnapshots {
    /** Changes within this time share a snapshot: after a start or a reload each server's metadata are one. */
    private static final long DELAY_MILLIS = 10;

    private final Catalogue.Settings settings;
    private final ModelLocations locations;
    private final ServerRecords records;
    private final ScheduledExecutorService loop;
    private boolean scheduled;
    private volatile FleetSnapshot snapshot;

    FleetSnapshots(
            Catalogue.Settings settings,
            ModelLocations locations,
            ServerRecords records,
            ScheduledExecutorService loop) {
        this.settings = settings;
        this.locations = locations;
        this.records = records;
        this.loop = loop;
        this.snapshot = taken();
    }

    /** The latest snapshot, on any thread. */
    FleetSnapshot now() {
        return snapshot;
    }

    /** Schedules a new snapshot; several changes share one. */
    void changed() {
        if (!scheduled) {
            scheduled = true;
            try {
                loop.schedule(this::take, DELAY_MILLIS, TimeUnit.MILLISECONDS);
            } catch (RejectedExecutionException closed) {
                // The gateway is shutting down; no snapshot is needed.
                return;
            }
        }
    }

    /** Takes one at once. */
    void take() {
        scheduled = false;
        snapshot = taken();
    }

    private FleetSnapshot taken() {
        Map<String, Boolean> known = new HashMap<>();
        Map<String, Boolean> policyResults = new HashMap<>();
        for (String name : locations.configured()) {
            ModelLocation location = locations.of(ModelRef.of(name));
            boolean ready = readyCount(location).satisfies(location.policy());
            policyResults.put(name, ready);
            if (checked(location)) {
                known.put(name, ready);
            }
        }
        ReadinessReport report = ReadinessReport.of(settings.policy(), records.ready(), policyResults);
        return new FleetSnapshot(
                records.seen(),
                report,
                known,
                FleetExtensions.of(settings.self(), records.extensions()),
                records.allChecked());
    }

    private ReadyCount readyCount(ModelLocation location) {
        ReadyCount count = ReadyCount.NONE;
        for (Target target : location.targets()) {
            List<Boolean> states = records.of(target.upstream()).stream()
                    .map(record -> record.isReady(target.model()))
                    .toList();
            count = count.plus(ReadyCount.of(states));
        }
        return count;
    }

    private boolean checked(ModelLocation location) {
        return location.targets().stream()
                .allMatch(target ->
                        records.of(target.upstream()).stream().allMatch(record -> record.knows(target.model())));
    }
}
