package dev.isthmus.gateway.metrics;

import io.micrometer.core.instrument.Counter;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/** A counter for each value of a label, all registered from the start, so that their rates have no gaps. */
public final class LabelledCounters {
    private LabelledCounters() {}

    public static <E extends Enum<E>> Map<E, Counter> of(Class<E> label, Function<E, Counter> register) {
        return of(EnumSet.allOf(label), register);
    }

    /** Registers a counter for each of these values; there is at least one. */
    public static <E extends Enum<E>> Map<E, Counter> of(Set<E> values, Function<E, Counter> register) {
        return new EnumMap<>(values.stream().collect(Collectors.toMap(Function.identity(), register)));
    }

    public static <E extends Enum<E>> void increment(Map<E, Counter> counters, E value) {
        Counter counter = counters.get(value);
        if (counter != null) {
            counter.increment();
        }
    }
}
