package dev.isthmus.gateway.metrics;

import io.micrometer.core.instrument.Counter;
import java.util.EnumMap;
import java.util.Map;
import java.util.function.Function;

/** A counter for each value of a label, all registered from the start, so that their rates have no gaps. */
public final class LabelledCounters {
    private LabelledCounters() {}

    /** Registers a counter for each value. */
    public static <E extends Enum<E>> Map<E, Counter> of(Class<E> label, Function<E, Counter> register) {
        Map<E, Counter> counters = new EnumMap<>(label);
        for (E value : label.getEnumConstants()) {
            counters.put(value, register.apply(value));
        }
        return counters;
    }

    /** Adds 1 to the counter of a value. */
    public static <E extends Enum<E>> void increment(Map<E, Counter> counters, E value) {
        Counter counter = counters.get(value);
        if (counter != null) {
            counter.increment();
        }
    }
}
