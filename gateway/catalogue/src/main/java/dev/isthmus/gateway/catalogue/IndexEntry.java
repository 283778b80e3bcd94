package dev.isthmus.gateway.catalogue;

/**
 * One model, or one version of it, in a repository index.
 *
 * @param version empty if the model has none, or none is loaded
 * @param reason for its state; empty for none; truncated to 512 characters
 */
public record IndexEntry(String name, String version, ModelState state, String reason) {

    public IndexEntry {
        reason = MetadataLimits.reason(reason);
    }

    /** The entry under the name that clients use. */
    public IndexEntry named(String other) {
        return new IndexEntry(other, version, state, reason);
    }

    /** Whether it stands for a model in the repository of which no version is loaded. */
    boolean placeholder() {
        return version.isEmpty() && state == ModelState.NONE;
    }
}
