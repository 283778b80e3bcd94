package dev.isthmus.gateway.routing;

import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * What choosing among targets needs beside the configuration; one for all tables of a gateway.
 *
 * @param pins where the running sequences are
 * @param random used by all event loops at once
 */
public record SelectionState(SequencePins pins, RandomGenerator random) {

    /** The real ones of a gateway. */
    public static SelectionState of(LongSupplier nanoTime) {
        return new SelectionState(
                new SequencePins(nanoTime), () -> ThreadLocalRandom.current().nextLong());
    }
}
