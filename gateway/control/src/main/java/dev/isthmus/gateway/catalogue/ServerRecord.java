package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.fleet.Cluster;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.ServerMetadata;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What is known of one server. Used on the catalogue's loop. */
final class ServerRecord {
    /** Its upstream as routing knows it. */
    final Upstream upstream;

    final Map<ModelRef, Boolean> models = new HashMap<>();
    ReplicaStatus member;
    /** Null as long as it has not told them. */
    @Nullable
    ServerMetadata metadata;
    /** Null as long as it was not asked. */
    @Nullable
    Boolean ready;

    String reason = "it was not asked yet";

    @Nullable
    IndexListing listing;
    /** When the index that is known was asked for. */
    long listedNanos;
    /** When its index was asked for last. */
    long askedNanos;
    /** The models that it listed when it last did. */
    Set<String> names = Set.of();

    ServerRecord(Upstream upstream, ReplicaStatus member) {
        this.upstream = upstream;
        this.member = member;
    }

    Upstream server() {
        return member.server();
    }

    ServerId source() {
        return new ServerId(member.upstream(), member.label());
    }

    /** Whether its cluster finds out by itself how it is. */
    boolean checked() {
        return upstream instanceof Cluster;
    }

    boolean isReady() {
        return Boolean.TRUE.equals(ready) && member.ready();
    }

    /** Whether it was asked whether the model is ready. On a server that does not answer, none is. */
    boolean knows(ModelRef model) {
        boolean answers = !member.asked() || member.ready();
        return !answers || models.containsKey(model) || member.models().containsKey(model);
    }

    boolean isReady(ModelRef model) {
        Boolean checked = member.models().get(model);
        return Boolean.TRUE.equals(checked == null ? models.get(model) : checked);
    }

    /** The member with what was found out about it. */
    ReplicaStatus seen() {
        Map<ModelRef, Boolean> all = new HashMap<>(models);
        all.putAll(member.models());
        boolean now = isReady();
        String why = now ? "" : member.ready() ? reason : member.reason();
        return new ReplicaStatus(
                member.upstream(), member.label(), member.server(), ready != null, now, why, all, member.ejected());
    }

    boolean indexed() {
        return RepositoryUpstreams.indexed(upstream);
    }

    boolean listed() {
        return RepositoryUpstreams.listed(upstream);
    }

    /** Its extensions, named or not, without a repository that has no index; null as long as it never answered. */
    @Nullable
    ServerExtensions extensions() {
        if (metadata == null) {
            return null;
        }
        List<String> named = metadata.extensions();
        List<String> names = named.isEmpty() ? upstream.peer().dialect().unnamedExtensions() : named;
        List<String> told = names.stream()
                .filter(name -> listed() || !RepositoryUpstreams.withoutIndex(name))
                .toList();
        return new ServerExtensions(told, upstream.peer().sharedMemory());
    }
}
