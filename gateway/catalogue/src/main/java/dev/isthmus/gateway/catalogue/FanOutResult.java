package dev.isthmus.gateway.catalogue;

import dev.isthmus.oip.OipException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The result of an operation on every server.
 *
 * @param what the operation, such as {@code load of model 'x'}
 * @param outcomes one per server, in configuration order
 */
public record FanOutResult(String what, List<ServerOutcome> outcomes) {

    public FanOutResult {
        outcomes = List.copyOf(outcomes);
    }

    /**
     * What one server has made of it.
     *
     * @param failure null if the server has done it
     */
    public record ServerOutcome(ServerId source, @Nullable OipException failure) {}

    /**
     * Empty if every server succeeded. The failure of a single server is returned as it is; otherwise the result has
     * the worst code and names the upstreams that succeeded, those that failed, and why.
     */
    public Optional<OipException> failure() {
        List<OipException> failures = new ArrayList<>();
        for (ServerOutcome outcome : outcomes) {
            if (outcome.failure() != null) {
                failures.add(outcome.failure());
            }
        }
        if (failures.isEmpty()) {
            return Optional.empty();
        }
        OipException worst = FailureSeverity.worst(failures);
        return Optional.of(outcomes.size() == 1 ? worst : new OipException(worst.code(), text(), worst).confidential());
    }

    private String text() {
        Map<String, ReadyCount> counts = new LinkedHashMap<>();
        Map<String, Set<String>> reasons = new LinkedHashMap<>();
        for (ServerOutcome outcome : outcomes) {
            String upstream = outcome.source().upstream();
            OipException failure = outcome.failure();
            counts.merge(upstream, ReadyCount.NONE.plus(failure == null), ReadyCount::plus);
            if (failure != null) {
                reasons.computeIfAbsent(upstream, name -> new LinkedHashSet<>())
                        .add(MetadataLimits.reason(failure.message()));
            }
        }
        List<String> succeeded = new ArrayList<>();
        List<String> failed = new ArrayList<>();
        counts.forEach((upstream, count) -> {
            if (count.ready() > 0) {
                succeeded.add(quoted(upstream, count.ready(), count.total()));
            }
            Set<String> why = reasons.get(upstream);
            if (why != null) {
                int missing = count.total() - count.ready();
                failed.add(quoted(upstream, missing, count.total()) + ": " + String.join("; ", why));
            }
        });
        String done = succeeded.isEmpty() ? "" : "done by " + String.join(", ", succeeded) + "; ";
        return MetadataLimits.cut(what + ": " + done + "failed on " + String.join("; ", failed), MetadataLimits.REPORT);
    }

    private static String quoted(String upstream, int part, int total) {
        return "'" + upstream + "'" + (total == 1 ? "" : " (" + part + " of " + total + ")");
    }
}
