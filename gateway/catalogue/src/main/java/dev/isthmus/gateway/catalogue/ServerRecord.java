package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.local.LocalUpstream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.ServerMetadata;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The state of one server. Used on the catalogue's loop. */
final class ServerRecord {
    /** Its upstream as routing knows it. */
    final Upstream upstream;

    ReplicaStatus member;
    /** Null until the server has reported them. */
    @Nullable
    ServerMetadata metadata;
    /** Whether it was ready at the last poll of its metadata. */
    boolean wasReady;

    @Nullable
    IndexListing listing;
    /** When the request for the current listing was sent. */
    long listedNanos;
    /** When the latest request for its index was sent. */
    long requestedNanos;
    /** The models in its latest successful listing. */
    Set<String> names = Set.of();

    ServerRecord(Upstream upstream, ReplicaStatus member) {
        this.upstream = upstream;
        this.member = member;
    }

    /** A copy, of which another catalogue makes its own. */
    ServerRecord(ServerRecord known) {
        this(known.upstream, known.member);
        metadata = known.metadata;
        wasReady = known.wasReady;
        listing = known.listing;
        listedNanos = known.listedNanos;
        requestedNanos = known.requestedNanos;
        names = known.names;
    }

    Upstream server() {
        return member.server();
    }

    ServerId source() {
        return new ServerId(member.upstream(), member.label());
    }

    boolean inProcess() {
        return member.server() instanceof LocalUpstream;
    }

    /** Whether it was checked and is ready. */
    boolean isReady() {
        return member.checked() && member.ready();
    }

    /** Whether the model's state on it is known. On an unreachable server no model is ready. */
    boolean knows(ModelRef model) {
        boolean responds = !member.checked() || member.ready();
        return !responds || member.models().containsKey(model);
    }

    boolean isReady(ModelRef model) {
        return Boolean.TRUE.equals(member.models().get(model));
    }

    /** The status for operators: not ready before the first check. */
    ReplicaStatus seen() {
        String reason = member.checked() ? MetadataLimits.reason(member.reason()) : "not checked yet";
        return new ReplicaStatus(
                member.upstream(),
                member.label(),
                member.server(),
                member.checked(),
                isReady(),
                isReady() ? "" : reason,
                member.models(),
                member.ejected(),
                member.drained());
    }

    boolean indexed() {
        return RepositoryUpstreams.indexed(upstream);
    }

    boolean listed() {
        return RepositoryUpstreams.listed(upstream);
    }

    /** Its extensions, listed or not, except for a repository without an index; null until it has responded. */
    @Nullable
    Set<String> extensions() {
        if (metadata == null) {
            return null;
        }
        List<String> listed = metadata.extensions();
        List<String> names = listed.isEmpty() ? upstream.peer().dialect().unnamedExtensions() : listed;
        List<String> usable = names.stream()
                .filter(name -> listed() || !RepositoryUpstreams.withoutIndex(name))
                .toList();
        return FleetExtensions.known(usable, upstream.peer().sharedMemory());
    }
}
