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
        /** Somebody wanted it. */
        REQUESTED;

        /** What metrics call it. */
        String label() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
