package dev.isthmus.gateway.ramp;

import dev.isthmus.gateway.net.Labelled;

/**
 * Why a ramp is rolled back.
 *
 * @param text for operators, with value and limit
 */
record GuardBreach(BreachKind kind, String text) {

    enum BreachKind implements Labelled {
        ERROR_RATE,
        LATENCY,
        DIFFERENCE,
        /** An operator requested it. */
        REQUESTED
    }
}
