package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.catalogue.ModelLocations.ModelLocation;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.ServerMetadata;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The servers of all upstreams. Used on the catalogue's loop, except for {@link #members}. */
final class ServerRecords {
    /** Servers that are asked about a model when a client wants to know. */
    static final int MAX_SERVERS = 8;

    private final List<Upstream> upstreams;
    /** By upstream: the models configured by name, under their names there. */
    private final Map<Upstream, Set<ModelRef>> models = new HashMap<>();

    private Map<Upstream, ServerRecord> byServer;
    private Map<Upstream, List<ServerRecord>> byUpstream = Map.of();

    /** A server and the model's name there. */
    record ServerModel(ServerRecord record, ModelRef model, ServerId source) {}

    /**
     * @param upstreams in order of precedence if servers disagree
     * @param known of some servers, from another configuration; used from now on by these records only
     */
    ServerRecords(List<Upstream> upstreams, ModelLocations locations, Map<Upstream, ServerRecord> known) {
        this.upstreams = List.copyOf(upstreams);
        this.byServer = known;
        for (ModelLocation location : locations.configured()) {
            for (Target target : location.targets()) {
                models.computeIfAbsent(target.upstream(), upstream -> new LinkedHashSet<>())
                        .add(target.model());
            }
        }
        refresh();
    }

    /** What is known of each server, for another configuration. */
    Map<Upstream, ServerRecord> copies() {
        return all().stream().collect(Collectors.toMap(ServerRecord::server, ServerRecord::new));
    }

    /** The servers of an upstream, on any thread. */
    List<ReplicaStatus> members(Upstream upstream) {
        return ReplicaStatus.of(upstream, models.getOrDefault(upstream, Set.of()));
    }

    /** Adds servers that have joined and removes those that have left; whether anything changed. */
    boolean refresh() {
        boolean changed = false;
        Map<Upstream, ServerRecord> current = new LinkedHashMap<>();
        Map<Upstream, List<ServerRecord>> grouped = new HashMap<>();
        for (Upstream upstream : upstreams) {
            List<ServerRecord> servers = new ArrayList<>();
            for (ReplicaStatus member : members(upstream)) {
                ServerRecord record = byServer.get(member.server());
                if (record == null) {
                    record = new ServerRecord(upstream, member);
                }
                changed |= !record.member.equals(member);
                record.member = member;
                current.put(member.server(), record);
                servers.add(record);
            }
            grouped.put(upstream, List.copyOf(servers));
        }
        changed |= !current.keySet().equals(byServer.keySet());
        byServer = current;
        byUpstream = grouped;
        return changed;
    }

    Collection<Upstream> servers() {
        return byServer.keySet();
    }

    Collection<ServerRecord> all() {
        return byServer.values();
    }

    List<ServerRecord> of(Upstream upstream) {
        return byUpstream.getOrDefault(upstream, List.of());
    }

    /** By upstream name, whether it has a ready server. */
    Map<String, Boolean> ready() {
        Map<String, Boolean> ready = new HashMap<>();
        upstreams.forEach(upstream -> ready.put(upstream.name(), false));
        byServer.values().forEach(record -> ready.merge(record.upstream.name(), record.isReady(), Boolean::logicalOr));
        return ready;
    }

    /** Whether every server has been checked. */
    boolean allChecked() {
        return byServer.values().stream().allMatch(record -> record.member.checked());
    }

    /** What servers say that they are; without those that have not said it. */
    Map<Upstream, ServerMetadata> metadata() {
        Map<Upstream, ServerMetadata> said = new HashMap<>();
        byServer.forEach((server, record) -> {
            if (record.metadata != null) {
                said.put(server, record.metadata);
            }
        });
        return said;
    }

    Map<Upstream, ReplicaStatus> seen() {
        Map<Upstream, ReplicaStatus> seen = new LinkedHashMap<>();
        byServer.forEach((server, record) -> seen.put(server, record.seen()));
        return seen;
    }

    List<Set<String>> extensions() {
        return all().stream()
                .flatMap(record -> Stream.ofNullable(record.extensions()))
                .toList();
    }

    /**
     * The servers of all targets, round-robin, at most this many; without servers that are not ready, unless none is.
     */
    List<ServerModel> of(ModelLocation location, int maxServers) {
        List<List<ServerModel>> byTarget = new ArrayList<>();
        for (Target target : location.targets()) {
            byTarget.add(of(target.upstream()).stream()
                    .map(record -> new ServerModel(record, target.model(), source(location, target, record)))
                    .toList());
        }
        boolean anyReady = byTarget.stream()
                .flatMap(List::stream)
                .anyMatch(server -> server.record().isReady());
        List<ServerModel> chosen = new ArrayList<>();
        int longest = byTarget.stream().mapToInt(List::size).max().orElse(0);
        for (int i = 0; i < longest; i++) {
            for (List<ServerModel> servers : byTarget) {
                if (i < servers.size() && chosen.size() < maxServers) {
                    ServerModel server = servers.get(i);
                    if (server.record().isReady() || !anyReady) {
                        chosen.add(server);
                    }
                }
            }
        }
        return chosen;
    }

    /** How many servers of a model's targets are not ready and are not among the chosen. */
    int lost(ModelLocation location, List<ServerModel> chosen) {
        return (int) location.targets().stream()
                .flatMap(target -> of(target.upstream()).stream())
                .filter(record -> !record.isReady())
                .filter(record -> chosen.stream().noneMatch(each -> each.record() == record))
                .count();
    }

    /** Several targets may be on one server. */
    private static ServerId source(ModelLocation location, Target target, ServerRecord record) {
        long targetsOnUpstream = location.targets().stream()
                .filter(other -> other.upstream() == target.upstream())
                .count();
        ServerId source = record.source();
        return targetsOnUpstream == 1 ? source : new ServerId(source.upstream(), source.label() + " " + target.model());
    }

    /**
     * Polls the metadata of each ready server, and requests them when a server becomes ready again. Used on the catalogue's
     * loop.
     */
    final class MetadataPolls {
        private static final Duration POLL_INTERVAL = Duration.ofSeconds(30);
        private static final int MAX_IN_FLIGHT = 16;

        private final CatalogueRequests requests;
        private final Consumer<List<ServerRecord>> returned;
        private final Runnable changed;
        private final PollSchedule<Upstream> schedule;

        /**
         * @param returned called with servers that became ready, for the first time or again
         * @param changed called when metadata have changed
         */
        MetadataPolls(
                CatalogueRequests requests,
                LongSupplier nanoTime,
                RandomGenerator random,
                Consumer<List<ServerRecord>> returned,
                Runnable changed) {
            this.requests = requests.atMost(MAX_IN_FLIGHT);
            this.returned = returned;
            this.changed = changed;
            this.schedule = new PollSchedule<>(POLL_INTERVAL, nanoTime, random);
        }

        void tick() {
            List<ServerRecord> back = all().stream()
                    .filter(record -> record.isReady() && !record.wasReady)
                    .toList();
            back.forEach(record -> schedule.pollNow(record.server()));
            if (!back.isEmpty()) {
                returned.accept(back);
            }
            for (ServerRecord record : all()) {
                boolean ready = record.isReady();
                record.wasReady = ready;
                Upstream server = record.server();
                if ((ready || record.inProcess()) && schedule.begin(server)) {
                    requests.serverMetadata(server, (message, failure) -> ended(record, message));
                }
            }
            schedule.retain(servers());
        }

        /** Whether every server that is ready was asked for its metadata. */
        boolean settled() {
            return schedule.settled(all().stream()
                    .filter(record -> record.isReady() || record.inProcess())
                    .map(ServerRecord::server)
                    .toList());
        }

        /** The health checks report why a server does not respond. */
        private void ended(ServerRecord record, @Nullable ReplyMessage message) {
            if (message instanceof ReplyMessage.Server server
                    && !server.metadata().equals(record.metadata)) {
                record.metadata = server.metadata();
                changed.run();
            }
            schedule.ended(record.server());
        }
    }
}
