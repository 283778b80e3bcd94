package dev.isthmus.gateway.upstream;

import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.Dialect;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Which dialect a server speaks: as configured, or as the name in its metadata says. Used by all event loops. */
public final class PeerKnowledge {
    private final @Nullable Dialect configured;
    private volatile @Nullable Dialect learnt;
    private volatile List<String> extensions = List.of();

    /** @param configured null for what the server's metadata say */
    public PeerKnowledge(@Nullable Dialect configured) {
        this.configured = configured;
    }

    /** The dialect; {@link Dialect#GENERIC} as long as nothing is known. */
    public Dialect dialect() {
        Dialect known = configured == null ? learnt : configured;
        return known == null ? Dialect.GENERIC : known;
    }

    /** What the server's metadata name, and what MLServer has without naming it. */
    public List<String> extensions() {
        List<String> named = extensions;
        return dialect() == Dialect.MLSERVER && named.isEmpty() ? List.of("model_repository") : named;
    }

    /** Learns from the server's metadata. */
    public void learn(ServerMetadata metadata) {
        learnt = Dialect.ofServer(metadata.name());
        extensions = metadata.extensions();
    }
}
