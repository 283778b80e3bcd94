package dev.isthmus.gateway.settings;

import java.time.Duration;
import java.time.temporal.ChronoUnit;

/** Joining of requests to one model into one call. */
@Doc(
        "Micro-batching: requests that arrive while others of the model are under way are joined along the first dimension "
                + "and sent as one call; each client gets its own rows of the response. For models whose rows do not depend on "
                + "each other and whose calls have no side effects.")
public record BatchingConfig(
        @Doc("Rows of one call: the sum of the first dimensions of the requests that are joined.")
        @Range(min = 2, max = 65_536)
        @Default("32")
        int maxBatchSize,

        @Doc("Longest time that a request waits for others, in microseconds.")
        @Range(min = 1, max = 10_000_000)
        @Default("1000")
        int maxQueueDelayMicroseconds,

        @Doc("Size of one call's inputs; larger requests are sent alone.") @Size @Default("1MiB")
        int maxBytes) {
    /** The longest time that a request waits for others. */
    public Duration maxQueueDelay() {
        return Duration.of(maxQueueDelayMicroseconds, ChronoUnit.MICROS);
    }
}
