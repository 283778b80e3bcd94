package dev.isthmus.bench.attack;

import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What the attacker saw.
 *
 * @param met whether that is what it must see, where something must be
 * @param notes answers and ends with their numbers
 */
public record AttackResult(boolean met, String notes) {
    /** Counts what is seen. One thread. */
    static final class Counts {
        private final Map<String, Integer> counts = new TreeMap<>();

        void add(String what) {
            add(what, 1);
        }

        void add(String what, int number) {
            counts.merge(what, number, Integer::sum);
        }

        int of(String what) {
            return counts.getOrDefault(what, 0);
        }

        AttackResult seen(boolean met) {
            return new AttackResult(
                    met,
                    counts.entrySet().stream()
                            .map(count -> count.getKey() + " " + count.getValue())
                            .collect(Collectors.joining(", ")));
        }
    }
}
