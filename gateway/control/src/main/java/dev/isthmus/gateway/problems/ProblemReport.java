package dev.isthmus.gateway.problems;

import dev.isthmus.gateway.admin.AdminQuery;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.console.FleetReading;
import dev.isthmus.gateway.console.SubjectKey;
import dev.isthmus.gateway.console.TrafficHistory;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.net.Labelled;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.peers.PeerPages.PeerFindings;
import dev.isthmus.gateway.problems.GatewayProblem.ProblemKey;
import dev.isthmus.gateway.problems.ProblemReport.GatewayEvents.GatewayEvent;
import dev.isthmus.gateway.problems.ProblemReport.GatewayEvents.GatewayEvent.EventKind;
import dev.isthmus.gateway.ramp.RampReport;
import dev.isthmus.gateway.ramp.RampState;
import dev.isthmus.gateway.reload.ReloadResult;
import dev.isthmus.gateway.reload.ReloadResult.LastReload;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.oip.ModelRef;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What is wrong now, and since when, and what has happened: derived every 5 s, from the calls of the last minute or so.
 * Thread-safe.
 */
public final class ProblemReport {
    private static final Logger LOG = LoggerFactory.getLogger(ProblemReport.class);
    private static final int SECONDS = 5;
    /** How many problems a document has; of thousands the worst are enough. */
    static final int MOST = 100;

    private final TrafficHistory history;
    private final Supplier<GatewaySnapshot> gateway;
    private final InstantSource clock;
    private final GatewayEvents events = new GatewayEvents();
    private Map<ProblemKey, Instant> since = Map.of();
    private Map<SubjectKey, Set<ModelRef>> placed = Map.of();
    private volatile Found found = new Found(Instant.EPOCH, List.of(), new ProblemCounts(0, 0), List.of());

    /**
     * The problems at one moment.
     *
     * @param problems the worst, the worst first
     * @param counts how many there are
     * @param events what happened before, the oldest first
     */
    private record Found(
            Instant time, List<GatewayProblem> problems, ProblemCounts counts, List<GatewayEvent> events) {}

    /**
     * How many problems there are, by severity.
     *
     * @param warnings those that are not critical
     */
    public record ProblemCounts(int critical, int warnings) {
        private static ProblemCounts of(List<GatewayProblem> problems) {
            int critical = Math.toIntExact(problems.stream()
                    .filter(problem -> problem.severity() == ProblemSeverity.CRITICAL)
                    .count());
            return new ProblemCounts(critical, problems.size() - critical);
        }

        private int all() {
            return critical + warnings;
        }
    }

    /** Starts without problems. */
    public ProblemReport(TrafficHistory history, Supplier<GatewaySnapshot> gateway, InstantSource clock) {
        this.history = history;
        this.gateway = gateway;
        this.clock = clock;
    }

    /** Begins to search, until the scheduler is shut down. */
    public void start(ScheduledExecutorService scheduler) {
        String fault = "internal error: problems cannot be derived; please report it";
        Runnable search = RepeatingLogEvent.guarded(LOG, fault, this::search);
        scheduler.scheduleWithFixedDelay(search, 0, SECONDS, TimeUnit.SECONDS);
    }

    public void addTo(AdminRoutes routes) {
        routes.route("GET", "/problems", request -> {
            AdminQuery.of(request);
            return AdminResponse.json(200, document());
        });
    }

    /** Derives the problems anew. */
    synchronized void search() {
        FleetReading now = history.latest();
        FleetReading before = Objects.requireNonNullElse(history.earlier(), now);
        Instant time = clock.instant();
        GatewaySnapshot snapshot = gateway.get();
        events.observe(snapshot, time);
        place(snapshot.servers());
        List<GatewayProblem> problems = new ProblemSearch(snapshot, placed, before, now, time).problems();
        Map<ProblemKey, Instant> first = new HashMap<>();
        for (GatewayProblem problem : problems) {
            Instant own = problem.since();
            first.put(problem.key(), own == null ? since.getOrDefault(problem.key(), time) : own);
        }
        since = first;
        found = new Found(
                time,
                problems.stream()
                        .limit(MOST)
                        .map(problem -> problem.since(Objects.requireNonNull(first.get(problem.key()))))
                        .toList(),
                ProblemCounts.of(problems),
                events.last());
    }

    /** Remembers which models are ready where; forgets those that are checked no more. */
    private void place(List<ReplicaStatus> servers) {
        Map<SubjectKey, Set<ModelRef>> checked = HashMap.newHashMap(servers.size());
        for (ReplicaStatus server : servers) {
            SubjectKey key = SubjectKey.of(server);
            Set<ModelRef> models = placed.getOrDefault(key, new HashSet<>());
            models.retainAll(server.models().keySet());
            server.models().forEach((model, ready) -> {
                if (ready) {
                    models.add(model);
                }
            });
            checked.put(key, models);
        }
        placed = checked;
    }

    /** How many problems there are, all of one moment. */
    public ProblemCounts counts() {
        return found.counts();
    }

    /** The problems, the worst first; an empty list if nothing is wrong. */
    Map<String, Object> document() {
        Found last = found;
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("time", last.time().toString());
        document.put("all", last.counts().all());
        document.put("events", last.events());
        document.put("problems", last.problems());
        return document;
    }

    /**
     * The last reloads, steps and rollbacks of ramps, and servers that were lost or came back: the differences between
     * snapshots. Confined to one thread at a time.
     */
    static final class GatewayEvents {
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
                                    + (ready
                                            ? "ready"
                                            : server.drained() ? "drained" : server.ready() ? "ejected" : "not ready"));
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
            enum EventKind implements Labelled {
                RELOAD,
                RAMP_STEP,
                ROLLBACK,
                SERVER_LOST,
                SERVER_BACK
            }
        }
    }

    /**
     * The state of the gateway at one moment, as far as it is not in meters.
     *
     * @param obstacle why the gateway is not ready; null if it is
     * @param servers all servers, as last checked
     * @param models whether each configured model is ready; without those that were not checked
     * @param drift the differences between the servers of a model, each with its server; without models that have none
     * @param lastReload null if there was none
     * @param inferenceServices what is wrong with those that are discovered, as sentences, by namespace and name
     * @param excluded local models that are not loaded because they ran when their process crashed
     * @param peers how the gateways of the deployment differ
     */
    public record GatewaySnapshot(
            GatewayConfig config,
            @Nullable String obstacle,
            List<ReplicaStatus> servers,
            Map<String, Boolean> models,
            Map<String, List<String>> drift,
            List<RampReport> ramps,
            @Nullable LastReload lastReload,
            Map<String, List<String>> inferenceServices,
            Set<String> excluded,
            PeerFindings peers) {

        public GatewaySnapshot {
            servers = List.copyOf(servers);
            ramps = List.copyOf(ramps);
            excluded = Set.copyOf(excluded);
        }
    }
}
