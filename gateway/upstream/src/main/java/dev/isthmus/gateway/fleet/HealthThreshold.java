package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.UpstreamConfig.Checks;
import org.jspecify.annotations.Nullable;

/** Turns consecutive probe results into a health state. The first result decides at once. */
final class HealthThreshold {
    private final Checks checks;
    private @Nullable Boolean healthy;
    private int opposite;

    HealthThreshold(Checks checks) {
        this.checks = checks;
    }

    /** Whether this result changed the state. */
    boolean record(boolean result) {
        if (healthy == null) {
            healthy = result;
            return true;
        }
        if (healthy == result) {
            opposite = 0;
            return false;
        }
        opposite++;
        if (opposite < (result ? checks.healthyAfter() : checks.unhealthyAfter())) {
            return false;
        }
        healthy = result;
        opposite = 0;
        return true;
    }

    /** Whether there was a result. */
    boolean known() {
        return healthy != null;
    }

    /** False before the first result. */
    boolean healthy() {
        return Boolean.TRUE.equals(healthy);
    }
}
