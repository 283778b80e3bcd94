package dev.isthmus.gateway.problems;

import dev.isthmus.gateway.console.SubjectKey;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.problems.GatewayEvents.GatewayEvent.EventKind;
import dev.isthmus.gateway.ramp.RampReport;
import dev.isthmus.gateway.ramp.RampState;
import dev.isthmus.gateway.reload.ReloadResult;
import dev.isthmus.gateway.reload.ReloadResult.LastReload;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The last reloads, steps and rollbacks of ramps, and servers that were lost or came back: the differences between
 * snapshots. Confined to one thread at a time.
 */
final class GatewayEvents {
    static final int MOST = 100;

    private final Deque<GatewayEvent> events = new ArrayDeque<>();
    private Map<SubjectKey, Boolean> servers = Map.of();
    private Map<String, Instant> ramps = Map.of();
    private @Nullable LastReload reload;

    /**
     * Adds what has changed since the last snapshot. Nothing is known of what was before the first, except that a ramp
     * which is rolled back was rolled back.
     */
    void observe(GatewaySnapshot gateway, Instant time) {
        observe(gateway.lastReload());
        observeRamps(gateway.ramps());
        observeServers(gateway.servers(), time);
    }

    private void observe(@Nullable LastReload now) {
        if (now != null && !now.equals(reload)) {
            boolean applied = now.result() instanceof ReloadResult.Applied;
            add(now.time(), EventKind.RELOAD, applied ? "configuration reloaded" : "configuration rejected");
        }
        reload = now;
    }

    private void observeRamps(List<RampReport> now) {
        Map<String, Instant> changed = new HashMap<>();
        for (RampReport ramp : now) {
            changed.put(ramp.model(), ramp.changed());
            Instant before = ramps.get(ramp.model());
            boolean back = ramp.state() == RampState.ROLLED_BACK;
            if (before == null ? back : !before.equals(ramp.changed())) {
                add(
                        ramp.changed(),
                        back ? EventKind.ROLLBACK : EventKind.RAMP_STEP,
                        "ramp of model '" + ramp.model() + "' "
                                + (back ? "rolled back" : "at " + ProblemText.percent(ramp.share())));
            }
        }
        ramps = changed;
    }

    private void observeServers(List<ReplicaStatus> now, Instant time) {
        Map<SubjectKey, Boolean> usable = new HashMap<>();
        for (ReplicaStatus server : now) {
            SubjectKey key = SubjectKey.of(server);
            if (!server.checked()) {
                continue;
            }
            boolean ready = ServerProblems.usable(server);
            usable.put(key, ready);
            Boolean before = servers.get(key);
            if (before != null && before != ready) {
                add(
                        time,
                        ready ? EventKind.SERVER_BACK : EventKind.SERVER_LOST,
                        "server " + key.name() + " of upstream '" + key.of() + "' is "
                                + (ready ? "ready" : server.ready() ? "ejected" : "not ready"));
            }
        }
        servers = usable;
    }

    private void add(Instant time, EventKind kind, String text) {
        if (events.size() == MOST) {
            events.removeFirst();
        }
        events.addLast(new GatewayEvent(time, kind, text));
    }

    /** The events, the oldest first. */
    List<GatewayEvent> last() {
        return List.copyOf(events);
    }

    /** Something that happened to the gateway, for the charts of its traffic. */
    record GatewayEvent(Instant time, EventKind kind, String text) {

        /** What happened. */
        enum EventKind {
            RELOAD,
            RAMP_STEP,
            ROLLBACK,
            SERVER_LOST,
            SERVER_BACK
        }

        Map<String, Object> document() {
            Map<String, Object> document = new LinkedHashMap<>();
            document.put("time", time.toString());
            document.put("kind", kind.name().toLowerCase(Locale.ROOT));
            document.put("text", text);
            return document;
        }
    }
}
