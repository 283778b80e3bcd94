package dev.isthmus.local;

/**
 * A line of the repository's index.
 *
 * @param version empty where it is about the model as a whole
 * @param reason why it is not ready, or why the last load failed; empty where there is nothing to say
 */
public record ModelStatus(String name, String version, State state, String reason) {

    /** As the protocol's extension calls them. */
    public enum State {
        LOADING,
        READY,
        UNAVAILABLE
    }
}
