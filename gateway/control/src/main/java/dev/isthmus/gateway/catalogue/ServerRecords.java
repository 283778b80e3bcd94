package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The servers of all upstreams. Used on the catalogue's loop, except for {@link #members}. */
final class ServerRecords {
    private final List<Upstream> upstreams;
    /** By upstream: the models configured by name, under their names there. */
    private final Map<Upstream, Set<ModelRef>> models = new HashMap<>();

    private Map<Upstream, ServerRecord> byServer = new LinkedHashMap<>();
    private Map<Upstream, List<ServerRecord>> byUpstream = Map.of();

    /** @param upstreams in order of precedence if servers disagree */
    ServerRecords(List<Upstream> upstreams, ModelLocations locations) {
        this.upstreams = List.copyOf(upstreams);
        for (String name : locations.configured()) {
            for (Target target : locations.of(ModelRef.of(name)).targets()) {
                models.computeIfAbsent(target.upstream(), upstream -> new LinkedHashSet<>())
                        .add(target.model());
            }
        }
        refresh();
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

    Map<Upstream, ReplicaStatus> seen() {
        Map<Upstream, ReplicaStatus> seen = new LinkedHashMap<>();
        byServer.forEach((server, record) -> seen.put(server, record.seen()));
        return seen;
    }

    List<Set<String>> extensions() {
        List<Set<String>> known = new ArrayList<>();
        for (ServerRecord record : byServer.values()) {
            Set<String> extensions = record.extensions();
            if (extensions != null) {
                known.add(extensions);
            }
        }
        return known;
    }
}
