package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.Wire;

/** Which upstreams have a repository of models, as far as is known now. */
public final class RepositoryUpstreams {
    private static final String NAME = Extension.REPOSITORY_INDEX.advertisedName();
    /** KServe's name; it has load and unload, and a list of names in place of the index. */
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

    /** Whether an extension of this name has load and unload only: over gRPC KServe does not list its models. */
    static boolean withoutIndex(String extension) {
        return extension.equals(KSERVE);
    }

    /** Whether models can be loaded and unloaded. */
    public static boolean loads(Upstream upstream) {
        return indexed(upstream) || upstream.extensions().contains(KSERVE);
    }
}
