package dev.isthmus.gateway.routing;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The explicit version of a request: only that version may serve it.
 *
 * @param pin the version of the candidate targets: this one if a target has it; null for targets without a version
 */
record RequestedVersion(String version, @Nullable String pin) {

    /** Whether the target serves this version, or may. */
    boolean mayBeServedBy(WeightedTarget arm) {
        return arm.version() == null || version.equals(arm.version());
    }

    boolean isCandidate(WeightedTarget arm) {
        return Objects.equals(pin, arm.version());
    }
}
