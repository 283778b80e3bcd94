package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.UpstreamConfig.Checks;
import org.jspecify.annotations.Nullable;

/** Judges by results in a row whether something is healthy; the first result decides at once. */
final class HealthThreshold {
    private final Checks rules;
    private @Nullable Boolean healthy;
    private int against;

    HealthThreshold(Checks rules) {
        this.rules = rules;
    }

    /** Whether this result changed the judgement. */
    boolean changedBy(boolean good) {
        if (healthy == null) {
            healthy = good;
            return true;
        }
        if (healthy == good) {
            against = 0;
            return false;
        }
        against++;
        if (against < (good ? rules.healthyAfter() : rules.unhealthyAfter())) {
            return false;
        }
        healthy = good;
        against = 0;
        return true;
    }

    /** False before the first result. */
    boolean healthy() {
        return Boolean.TRUE.equals(healthy);
    }
}
