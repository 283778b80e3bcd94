package dev.isthmus.gateway.catalogue;

/**
 * One model, or one version of it, in a repository index.
 *
 * @param version empty where the model has none, or none is loaded
 * @param reason why it is in this state; empty for none; at most 512 characters are kept
 */
public record IndexEntry(String name, String version, ModelState state, String reason) {

    public IndexEntry {
        reason = MetadataLimits.reason(reason);
    }

    /** The same under the name that clients ask for. */
    public IndexEntry named(String other) {
        return new IndexEntry(other, version, state, reason);
    }

    /** That the repository has a model of which nothing is loaded: no version, so this is of none. */
    boolean placeholder() {
        return version.isEmpty() && state == ModelState.NONE;
    }
}
