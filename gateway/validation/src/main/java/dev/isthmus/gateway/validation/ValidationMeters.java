package dev.isthmus.gateway.validation;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/**
 * Counts what the validation finds, by model and reason. The counters of a model are registered for all reasons at once,
 * when it needs the first. Thread-safe.
 */
final class ValidationMeters {
    private final MeterRegistry registry;
    private final Map<String, Map<MismatchReason, Counter>> invalid = new ConcurrentHashMap<>();
    private final Map<String, Map<PassedReason, Counter>> passed = new ConcurrentHashMap<>();

    /** Why it is not known whether a request matches. */
    enum PassedReason {
        /** The model's metadata are not known yet. */
        UNKNOWN,
        /** Those of one of its servers are not known: it may take the request. */
        INCOMPLETE,
        /** The comparison has failed. */
        FAULT
    }

    ValidationMeters(MeterRegistry registry) {
        this.registry = registry;
    }

    /** A request does not match its model's metadata. */
    void invalid(String model, MismatchReason reason) {
        increment(invalid, model, reason, this::invalidCounters);
    }

    /** A request is sent although it is not known whether it matches. */
    void passed(String model, PassedReason reason) {
        increment(passed, model, reason, this::passedCounters);
    }

    private static <E extends Enum<E>> void increment(
            Map<String, Map<E, Counter>> byModel, String model, E reason, Function<String, Map<E, Counter>> register) {
        Map<E, Counter> counters = byModel.get(model);
        if (counters == null) {
            counters = byModel.computeIfAbsent(model, register);
        }
        Objects.requireNonNull(counters.get(reason)).increment();
    }

    private Map<MismatchReason, Counter> invalidCounters(String model) {
        Map<MismatchReason, Counter> counters = new EnumMap<>(MismatchReason.class);
        for (MismatchReason reason : MismatchReason.values()) {
            counters.put(
                    reason,
                    Counter.builder("isthmus.requests.invalid")
                            .description(
                                    "Inference requests that do not match the metadata of their model, by the first difference")
                            .tag("model", model)
                            .tag("reason", reason.label())
                            .register(registry));
        }
        return counters;
    }

    private Map<PassedReason, Counter> passedCounters(String model) {
        Map<PassedReason, Counter> counters = new EnumMap<>(PassedReason.class);
        for (PassedReason reason : PassedReason.values()) {
            counters.put(
                    reason,
                    Counter.builder("isthmus.requests.unvalidated")
                            .description(
                                    "Inference requests that were sent although it is not known whether they match")
                            .tag("model", model)
                            .tag("reason", reason.name().toLowerCase(Locale.ROOT))
                            .register(registry));
        }
        return counters;
    }
}
