package dev.isthmus.gateway.shadow;

import dev.isthmus.transcoder.InferMessage;

/**
 * Notifies the copies of a call of its end, on the call's event loop, before the client's reply ends. Only the first of
 * {@link #responded} and {@link #ended} counts. Throws nothing.
 */
public interface PrimaryCallObserver {

    /** For a call without copies. */
    PrimaryCallObserver NONE = new PrimaryCallObserver() {
        @Override
        public boolean compares() {
            return false;
        }

        @Override
        public void responded(InferMessage response) {}

        @Override
        public void ended() {}
    };

    /** Whether the complete response is needed; if not, {@link #ended} suffices. */
    boolean compares();

    /**
     * The server responded.
     *
     * @param response on the server's wire, borrowed: parts that are kept are retained, not copied
     */
    void responded(InferMessage response);

    /** There is no response to compare with: the call failed, or the client has disconnected. */
    void ended();
}
