package dev.isthmus.local;

import dev.isthmus.local.ModelStatus.State;
import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.local.repository.ModelRepository;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A snapshot of a model's versions.
 *
 * @param served the loaded versions
 * @param reasons why versions are not loaded or failed to reload; the key {@link #WHOLE} is the model as a whole
 */
record ModelVersions(NavigableMap<Long, Served> served, NavigableMap<Long, String> reasons, boolean loading) {
    /** The key for all versions. */
    static final long WHOLE = 0;

    static final ModelVersions NONE = new ModelVersions(new TreeMap<>(), new TreeMap<>(), false);

    /** A loaded version with its counters. */
    record Served(OnnxModel model, ModelCounts counts) {
        String version() {
            return model.ref().version();
        }
    }

    ModelVersions {
        served = Collections.unmodifiableNavigableMap(new TreeMap<>(served));
        reasons = Collections.unmodifiableNavigableMap(new TreeMap<>(reasons));
    }

    /** Whether nothing was ever loaded. */
    boolean unknown() {
        return served.isEmpty() && reasons.isEmpty();
    }

    ModelVersions withLoading() {
        return new ModelVersions(served, reasons, true);
    }

    /** The loaded versions stay; the reasons are those of the last attempt. */
    ModelVersions failed(Map<Long, String> problems) {
        return new ModelVersions(served, new TreeMap<>(problems), false);
    }

    ModelVersions unloaded() {
        NavigableMap<Long, String> reasons = new TreeMap<>();
        served.keySet().forEach(version -> reasons.put(version, "unloaded"));
        return new ModelVersions(new TreeMap<>(), reasons, false);
    }

    /** The version with this number or name; the highest one if it is empty. */
    @Nullable
    Served find(String version) {
        if (version.isEmpty()) {
            return served.isEmpty() ? null : served.lastEntry().getValue();
        }
        for (Served each : served.values()) {
            if (each.version().equals(version)) {
                return each;
            }
        }
        return version.matches("[0-9]{1,18}") ? served.get(Long.parseLong(version)) : null;
    }

    /** The entries of the repository index. */
    List<ModelStatus> status(String name) {
        NavigableSet<Long> versions = new TreeSet<>(served.keySet());
        versions.addAll(reasons.keySet());
        if (versions.isEmpty()) {
            versions.add(WHOLE);
        } else if (!served.isEmpty()) {
            versions.remove(WHOLE);
        }
        List<ModelStatus> statuses = new ArrayList<>();
        for (long version : versions) {
            String reason = reasons.getOrDefault(version, "");
            if (served.containsKey(version)) {
                reason = reason.isEmpty() ? reasons.getOrDefault(WHOLE, "") : reason;
            }
            Served here = served.get(version);
            String number = here == null ? shown(version) : here.version();
            statuses.add(new ModelStatus(name, number, state(version), reason));
        }
        return statuses;
    }

    /** A version in the index and in messages; empty if it has no number. */
    static String shown(long version) {
        return version == WHOLE || version > ModelRepository.MAX_VERSION ? "" : Long.toString(version);
    }

    private State state(long version) {
        if (served.containsKey(version)) {
            return State.READY;
        }
        return loading ? State.LOADING : State.UNAVAILABLE;
    }
}
