package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.upstream.InProcessServer;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.ServerMetadata;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What is known of one server. Used on the catalogue's loop. */
final class ServerRecord {
    /** Its upstream as routing knows it. */
    final Upstream upstream;

    ReplicaStatus member;
    /** Null as long as it has not told them. */
    @Nullable
    ServerMetadata metadata;
    /** Whether it was ready when its metadata were last thought of. */
    boolean wasReady;

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

    /** Whether it is in this process. */
    boolean inProcess() {
        return member.server() instanceof InProcessServer;
    }

    /** Whether it was asked, and said so. */
    boolean isReady() {
        return member.asked() && member.ready();
    }

    /** Whether it was asked whether the model is ready. On a server that does not answer, none is. */
    boolean knows(ModelRef model) {
        boolean answers = !member.asked() || member.ready();
        return !answers || member.models().containsKey(model);
    }

    boolean isReady(ModelRef model) {
        return Boolean.TRUE.equals(member.models().get(model));
    }

    /** The member as operators see it: not ready before it was asked. */
    ReplicaStatus seen() {
        String why = member.asked() ? MetadataLimits.reason(member.reason()) : "it was not asked yet";
        return new ReplicaStatus(
                member.upstream(),
                member.label(),
                member.server(),
                member.asked(),
                isReady(),
                isReady() ? "" : why,
                member.models(),
                member.ejected());
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
