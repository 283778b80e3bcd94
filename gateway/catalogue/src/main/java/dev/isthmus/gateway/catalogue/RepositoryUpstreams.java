package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.Wire;

/** Which upstreams have a model repository, as far as is known. */
public final class RepositoryUpstreams {
    static final String NAME = Extension.REPOSITORY_INDEX.advertisedName();
    /** KServe's extension: load and unload, and a list of names instead of the index. */
    private static final String KSERVE = "model_repository_extension";

    private RepositoryUpstreams() {}

    /** Whether it has the repository index of Triton and MLServer. */
    public static boolean indexed(Upstream upstream) {
        return upstream.extensions().contains(NAME);
    }

    /** Whether it has KServe's list of models. */
    static boolean listed(Upstream upstream) {
        return upstream.peer().dialect() == Dialect.KSERVE && upstream.peer().wire() == Wire.REST;
    }

    /** Whether the extension has load and unload only: over gRPC KServe does not list its models. */
    static boolean withoutIndex(String extension) {
        return extension.equals(KSERVE);
    }

    /** Whether models can be loaded and unloaded. */
    public static boolean loads(Upstream upstream) {
        return indexed(upstream) || upstream.extensions().contains(KSERVE);
    }
}
