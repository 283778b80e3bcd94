package dev.isthmus.gateway.ramp;

import java.io.IOException;
import java.util.Map;

/** Persists the progress of ramps. Its methods may block; never called on an event loop. */
public interface RampStateStore {
    /** Persists nothing. */
    RampStateStore NONE = new RampStateStore() {
        @Override
        public Map<String, SavedRamp> load() {
            return Map.of();
        }

        @Override
        public void save(Map<String, SavedRamp> ramps) {}
    };

    /**
     * The progress saved last, by model; empty if none was saved.
     *
     * @throws IOException if it cannot be read or is malformed
     */
    Map<String, SavedRamp> load() throws IOException;

    /**
     * Replaces the saved progress.
     *
     * @throws IOException if it cannot be saved; what was saved before is left
     */
    void save(Map<String, SavedRamp> ramps) throws IOException;
}
