package dev.isthmus.gateway.fleet.kubernetes;

import java.time.Duration;
import java.util.random.RandomGenerator;

/** The time between attempts after failures: doubled with each, up to a limit, half of it at random. */
final class WatchBackoff {
    private static final Duration FIRST = Duration.ofMillis(500);
    private static final Duration LIMIT = Duration.ofSeconds(30);

    private final RandomGenerator random;
    private Duration next = FIRST;

    WatchBackoff(RandomGenerator random) {
        this.random = random;
    }

    /** The time to wait now. */
    Duration next() {
        Duration wait = next;
        Duration doubled = next.multipliedBy(2);
        next = doubled.compareTo(LIMIT) > 0 ? LIMIT : doubled;
        return Duration.ofMillis(wait.toMillis() / 2 + random.nextLong(wait.toMillis() / 2 + 1));
    }

    void reset() {
        next = FIRST;
    }
}
