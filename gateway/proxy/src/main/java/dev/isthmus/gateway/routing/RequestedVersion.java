package dev.isthmus.gateway.routing;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The version that a call names itself, and not by a label: it is served by that version or refused.
 *
 * @param pin the version of the targets that are chosen from: this one where a target has it; null for targets without one
 */
record RequestedVersion(String version, @Nullable String pin) {

    /** Whether the arm answers with this version, or may. */
    boolean mayBeServedBy(WeightedTarget arm) {
        return arm.version() == null || version.equals(arm.version());
    }

    /** Whether the arm is one of those that are chosen from. */
    boolean isAmong(WeightedTarget arm) {
        return Objects.equals(pin, arm.version());
    }
}
