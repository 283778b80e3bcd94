package dev.isthmus.gateway.ramp;

import java.io.IOException;

/**
 * The states of ramps that gateways have in common, one for each model and configuration of its ramp. A state belongs to
 * a round, which a restart begins: within a round a rollback is final, and steps only follow each other. Its methods
 * block for a short time; never called on an event loop.
 */
public interface SharedRamps {

    /** What a gateway wants to change; has no effect if the common state does not permit it. */
    enum RampCommand {
        /** Nothing but to learn the common state. */
        MERGE,
        /** To the next step, or to the end of the last one. */
        ADVANCE,
        PAUSE,
        RESUME,
        RESTART
    }

    /**
     * Merges a gateway's state into the common one, then applies the command. The common state is the one to take over,
     * except: a rollback in the same round is added to it; if it is of an earlier round or missing, because the store has
     * lost data, the lower share of both counts.
     *
     * @param mine of the gateway
     * @param wanted state and step to advance to, and the time of the change
     * @return the common state
     * @throws IOException if the store does not answer in time
     */
    SavedRamp exchange(String model, SavedRamp mine, RampCommand command, SavedRamp wanted) throws IOException;
}
