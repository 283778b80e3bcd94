package dev.isthmus.local;

/**
 * An entry of the repository index.
 *
 * @param version empty for the model as a whole
 * @param reason why it is not ready, or why the last load failed; empty for none
 */
public record ModelStatus(String name, String version, State state, String reason) {

    /** The states of the model repository extension. */
    public enum State {
        LOADING,
        READY,
        UNAVAILABLE
    }
}
