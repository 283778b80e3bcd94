package dev.isthmus.gateway;

import dev.isthmus.gateway.audit.AuditLog.AuditedChange;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.reload.ReloadResult;
import dev.isthmus.gateway.reload.ReloadResult.LastReload;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs and counts how reloads end. */
final class ReloadReporter {
    private static final Logger LOG = LoggerFactory.getLogger(ReloadReporter.class);
    private static final int MAX_CHANGES = 100;

    private final Counter applied;
    private final Counter rejected;
    private final AtomicLong generation = new AtomicLong(1);
    private volatile @Nullable LastReload last;
    private volatile @Nullable LastReload lastApplied;
    private volatile @Nullable LastReload lastRejected;

    ReloadReporter(MeterRegistry registry) {
        applied = counter(registry, "applied");
        rejected = counter(registry, "rejected");
        Gauge.builder("isthmus.config.generation", generation, AtomicLong::get)
                .description("Generation of the active configuration; 1 at start")
                .register(registry);
        Gauge.builder("isthmus.config.last.reload.success", this, it -> it.applied() ? 1 : 0)
                .description("1 if the last reload was applied, 0 if it was rejected")
                .register(registry);
    }

    private boolean applied() {
        LastReload ended = last;
        return ended == null || ended.result() instanceof ReloadResult.Applied;
    }

    private static Counter counter(MeterRegistry registry, String result) {
        return Counter.builder("isthmus.config.reloads")
                .description("Configuration reloads")
                .tag("result", result)
                .register(registry);
    }

    /**
     * A configuration is in effect.
     *
     * @param changes what differs from the one before; the first hundred are reported
     */
    ReloadResult applied(long number, List<String> changes, List<String> warnings) {
        ReloadResult.Applied result = new ReloadResult.Applied(number, first(changes), warnings);
        warnings.forEach(LOG::warn);
        LOG.info("configuration {} is in effect; changes: {}", number, result.changes());
        generation.set(number);
        applied.increment();
        lastApplied = new LastReload(Instant.now(), result);
        last = lastApplied;
        return result;
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
        rejected.increment();
        ReloadResult.Rejected result = new ReloadResult.Rejected(invalid, problems);
        lastRejected = new LastReload(Instant.now(), result);
        last = lastRejected;
        return result;
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

    /** How a reload ended, for the audit log. */
    static AuditedChange audited(long before, ReloadResult result) {
        return switch (result) {
            case ReloadResult.Applied applied -> {
                String changes = String.join("; ", applied.changes());
                String after = "generation " + applied.generation()
                        + (changes.isEmpty() ? ", nothing changed" : ": " + changes);
                yield AuditedChange.done("reload", "configuration", "generation " + before, after);
            }
            case ReloadResult.Rejected rejected ->
                AuditedChange.refused("reload", "configuration", String.join("; ", rejected.problems()));
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
