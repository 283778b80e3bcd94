package dev.isthmus.gateway.ramp;

import java.io.IOException;
import java.util.Map;

/** Keeps where ramps stand beyond the process. Its calls may block, and never come from an event loop. */
public interface RampStateStore {
    /** Keeps nothing. */
    RampStateStore NONE = new RampStateStore() {
        @Override
        public Map<String, SavedRamp> load() {
            return Map.of();
        }

        @Override
        public void save(Map<String, SavedRamp> ramps) {}
    };

    /**
     * What was saved last, by model; empty where nothing was.
     *
     * @throws IOException when it cannot be read, or is not what was saved
     */
    Map<String, SavedRamp> load() throws IOException;

    /**
     * Replaces what was saved.
     *
     * @throws IOException when it cannot be kept; what was saved before is left
     */
    void save(Map<String, SavedRamp> ramps) throws IOException;
}
