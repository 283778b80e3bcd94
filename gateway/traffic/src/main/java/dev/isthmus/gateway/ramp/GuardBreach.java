package dev.isthmus.gateway.ramp;

import java.util.Locale;

/**
 * Why a ramp is rolled back.
 *
 * @param text for operators, with value and limit
 */
record GuardBreach(BreachKind kind, String text) {

    enum BreachKind {
        ERROR_RATE,
        LATENCY,
        DIFFERENCE,
        /** An operator requested it. */
        REQUESTED;

        /** The metric's tag value. */
        String label() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
