package dev.isthmus.gateway;

import dev.isthmus.gateway.metrics.ReloadMetrics;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.reload.LastReload;
import dev.isthmus.gateway.reload.ReloadResult;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs and counts how reloads end. */
final class ReloadReporter {
    private static final Logger LOG = LoggerFactory.getLogger(ReloadReporter.class);
    private static final int MAX_CHANGES = 100;

    private final ReloadMetrics metrics;
    private volatile @Nullable LastReload last;
    private volatile @Nullable LastReload lastApplied;
    private volatile @Nullable LastReload lastRejected;

    ReloadReporter(MeterRegistry registry) {
        metrics = new ReloadMetrics(registry);
    }

    /**
     * A configuration is in effect.
     *
     * @param changes what differs from the one before; the first hundred are reported
     */
    ReloadResult applied(long generation, List<String> changes, List<String> warnings) {
        ReloadResult.Applied applied = new ReloadResult.Applied(generation, first(changes), warnings);
        warnings.forEach(LOG::warn);
        LOG.info("configuration {} is in effect; changes: {}", generation, applied.changes());
        metrics.applied(generation);
        last = new LastReload(Instant.now(), applied);
        lastApplied = last;
        return applied;
    }

    /**
     * A configuration is rejected.
     *
     * @param invalid whether it cannot be used as it is written
     */
    ReloadResult rejected(boolean invalid, List<String> problems) {
        LOG.error(
                "the new configuration was rejected; the previous one stays in effect; correct it: {}",
                String.join("; ", problems));
        metrics.rejected();
        ReloadResult.Rejected rejected = new ReloadResult.Rejected(invalid, problems);
        last = new LastReload(Instant.now(), rejected);
        lastRejected = last;
        return rejected;
    }

    /** How the last reload ended; null if there was none. */
    @Nullable
    LastReload last() {
        return last;
    }

    /** The last reload that was applied; null if there was none. */
    @Nullable
    LastReload lastApplied() {
        return lastApplied;
    }

    /** The last reload that was rejected; null if there was none. */
    @Nullable
    LastReload lastRejected() {
        return lastRejected;
    }

    /** Reports a reload that was rejected because of this. */
    ReloadResult rejected(Exception cause) {
        return switch (cause) {
            case OipException refused -> rejected(false, List.of(refused.message()));
            case ConfigException invalid -> rejected(true, invalid.problems());
            default -> rejected(false, List.of(FailureReason.of(cause)));
        };
    }

    private static List<String> first(List<String> changes) {
        if (changes.size() <= MAX_CHANGES) {
            return changes;
        }
        List<String> shown = new ArrayList<>(changes.subList(0, MAX_CHANGES));
        shown.add("and " + (changes.size() - MAX_CHANGES) + " more");
        return shown;
    }
}
