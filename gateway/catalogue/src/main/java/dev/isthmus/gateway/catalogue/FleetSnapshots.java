package dev.isthmus.gateway.catalogue;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.catalogue.FleetSnapshots.FleetSnapshot.ReadinessReport;
import dev.isthmus.gateway.catalogue.ModelLocations.ModelLocation;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.settings.GatewayConfig.ServerReadyPolicy;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.message.Wire;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
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
        for (ModelLocation location : locations.configured()) {
            String name = location.requested().name();
            boolean ready = readyCount(location).satisfies(location.policy());
            policyResults.put(name, ready);
            if (checked(location)) {
                known.put(name, ready);
            }
        }
        ReadinessReport report = ReadinessReport.of(settings.policy(), records.ready(), policyResults);
        return new FleetSnapshot(
                records.seen(),
                records.metadata(),
                report,
                known,
                FleetExtensions.of(settings.self(), records.extensions()),
                records.allChecked());
    }

    private ReadyCount readyCount(ModelLocation location) {
        ReadyCount count = ReadyCount.NONE;
        for (Target target : location.targets()) {
            for (ServerRecord record : records.of(target.upstream())) {
                count = count.plus(record.isReady(target.model()));
            }
        }
        return count;
    }

    private boolean checked(ModelLocation location) {
        return location.targets().stream()
                .allMatch(target ->
                        records.of(target.upstream()).stream().allMatch(record -> record.knows(target.model())));
    }

    /**
     * A snapshot of the fleet's state, without model metadata and the index.
     *
     * @param members by server, in their order
     * @param said what servers say that they are
     * @param server whether the gateway reports itself ready
     * @param models by name, whether each configured model is ready; without models that were not checked on all servers
     * @param metadata the gateway's
     * @param settled whether every server has been checked
     */
    record FleetSnapshot(
            Map<Upstream, ReplicaStatus> members,
            Map<Upstream, ServerMetadata> said,
            ReadinessReport server,
            Map<String, Boolean> models,
            ServerMetadata metadata,
            boolean settled) {

        FleetSnapshot {
            members = Collections.unmodifiableMap(new LinkedHashMap<>(members));
            said = Map.copyOf(said);
            models = Map.copyOf(models);
        }

        /**
         * For the admin listener.
         *
         * @param notReady why V2 clients are told that the gateway is not ready; empty if it is ready
         * @param readyModels whether the models that are ready are listed, too: they may be many
         */
        ObjectNode document(String notReady, boolean readyModels) {
            ObjectNode json = JsonNodeFactory.instance
                    .objectNode()
                    .put("ready", notReady.isEmpty())
                    .put("reason", notReady);
            ArrayNode missing = json.putArray("missing");
            server.missing().forEach(missing::add);
            ArrayNode servers = json.putArray("servers");
            for (ReplicaStatus member : members.values()) {
                ObjectNode node = servers.addObject()
                        .put("upstream", member.upstream())
                        .put("server", member.label())
                        .put("ready", member.ready())
                        .put("reason", member.reason())
                        .put("ejected", member.ejected())
                        .put("drained", member.drained())
                        .put("models_all", member.models().size())
                        .put(
                                "models_ready",
                                Collections.frequency(member.models().values(), true));
                ServerMetadata metadata = said.get(member.server());
                if (metadata != null) {
                    node.put("name", metadata.name()).put("version", metadata.version());
                }
                ServerCapabilities capabilities = member.server().capabilities();
                if (capabilities != null) {
                    ServerCapabilities.DialectReport dialect = capabilities.report();
                    node.put("protocol", member.server().peer().wire() == Wire.REST ? "rest" : "grpc")
                            .put("dialect", dialect.dialect())
                            .put("dialect_reason", dialect.reason());
                }
                ArrayNode list = node.putArray("models");
                member.models().entrySet().stream()
                        .filter(entry -> readyModels || !entry.getValue())
                        .sorted(Map.Entry.comparingByKey(
                                Comparator.comparing(ModelRef::name).thenComparing(ModelRef::version)))
                        .forEach(entry -> list.addObject()
                                .put("name", entry.getKey().name())
                                .put("version", entry.getKey().version())
                                .put("ready", entry.getValue()));
            }
            return json;
        }

        /**
         * Whether the gateway reports itself ready to V2 clients, which see all servers behind it as one.
         *
         * @param reason why it is not ready; empty if it is
         * @param missing the servers or models that are required but not ready, sorted; empty if it is ready
         */
        public record ReadinessReport(boolean ready, String reason, List<String> missing) {
            private static final ReadinessReport READY = new ReadinessReport(true, "", List.of());

            public ReadinessReport {
                missing = List.copyOf(missing);
            }

            /**
             * Applies the policy.
             *
             * @param servers by upstream name, whether a server is ready
             * @param models by name, whether each configured model is ready by its own policy
             */
            static ReadinessReport of(
                    ServerReadyPolicy policy, Map<String, Boolean> servers, Map<String, Boolean> models) {
                return switch (policy) {
                    case ANY -> any(servers);
                    case ALL -> servers.isEmpty() ? any(servers) : all("upstreams without a ready server: ", servers);
                    case MODELS -> models.isEmpty() ? any(servers) : all("models not ready: ", models);
                };
            }

            private static ReadinessReport any(Map<String, Boolean> states) {
                return states.containsValue(true) ? READY : lacks("no upstream has a ready server: ", notReady(states));
            }

            private static ReadinessReport all(String what, Map<String, Boolean> states) {
                List<String> notReady = notReady(states);
                return notReady.isEmpty() ? READY : lacks(what, notReady);
            }

            private static List<String> notReady(Map<String, Boolean> states) {
                return states.entrySet().stream()
                        .filter(state -> !state.getValue())
                        .map(Map.Entry::getKey)
                        .sorted()
                        .toList();
            }

            private static ReadinessReport lacks(String what, List<String> names) {
                return new ReadinessReport(false, MetadataLimits.reason(what + String.join(", ", names)), names);
            }
        }
    }
}
