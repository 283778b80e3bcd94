package dev.isthmus.bench.attack;

import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The attacker's observations.
 *
 * @param met whether they are as expected; true if nothing is expected
 * @param notes responses and ends of connections, with their counts
 */
public record AttackResult(boolean met, String notes) {
    /** Counts observations. Not thread-safe. */
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
