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

/** The servers of all upstreams. Used on the catalogue's loop, but for {@link #members}. */
final class ServerRecords {
    private final List<Upstream> upstreams;
    /** By upstream: the models that are configured by name, as its servers know them. */
    private final Map<Upstream, Set<ModelRef>> models = new HashMap<>();

    private Map<Upstream, ServerRecord> byServer = new LinkedHashMap<>();

    /** @param upstreams in the order that decides where servers disagree */
    ServerRecords(List<Upstream> upstreams, ModelLocations places) {
        this.upstreams = List.copyOf(upstreams);
        for (String name : places.configured()) {
            for (Target target : places.of(ModelRef.of(name)).targets()) {
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

    /** Takes servers that have joined, drops those that have left; whether anything is not as it was. */
    boolean refresh() {
        boolean changed = false;
        Map<Upstream, ServerRecord> now = new LinkedHashMap<>();
        for (Upstream upstream : upstreams) {
            for (ReplicaStatus member : members(upstream)) {
                ServerRecord watch = byServer.get(member.server());
                if (watch == null) {
                    watch = new ServerRecord(upstream, member);
                }
                changed |= !watch.member.equals(member);
                watch.member = member;
                now.put(member.server(), watch);
            }
        }
        changed |= !now.keySet().equals(byServer.keySet());
        byServer = now;
        return changed;
    }

    Collection<Upstream> servers() {
        return byServer.keySet();
    }

    Collection<ServerRecord> all() {
        return byServer.values();
    }

    List<ServerRecord> of(Upstream upstream) {
        return byServer.values().stream()
                .filter(watch -> watch.upstream == upstream)
                .toList();
    }

    /** Which upstreams have a server that is ready. */
    Map<String, Boolean> ready() {
        Map<String, Boolean> ready = new HashMap<>();
        upstreams.forEach(upstream -> ready.put(upstream.name(), false));
        byServer.values().forEach(watch -> ready.merge(watch.upstream.name(), watch.isReady(), Boolean::logicalOr));
        return ready;
    }

    /** Whether every server has been asked whether it is ready. */
    boolean settled() {
        return byServer.values().stream().allMatch(watch -> watch.member.asked());
    }

    Map<Upstream, ReplicaStatus> seen() {
        Map<Upstream, ReplicaStatus> seen = new LinkedHashMap<>();
        byServer.forEach((server, watch) -> seen.put(server, watch.seen()));
        return seen;
    }

    List<ServerExtensions> extensions() {
        List<ServerExtensions> known = new ArrayList<>();
        for (ServerRecord watch : byServer.values()) {
            ServerExtensions extensions = watch.extensions();
            if (extensions != null) {
                known.add(extensions);
            }
        }
        return known;
    }
}
