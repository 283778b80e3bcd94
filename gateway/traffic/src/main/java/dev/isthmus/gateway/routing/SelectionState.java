package dev.isthmus.gateway.routing;

import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * State used to choose among targets, shared by all tables of a gateway.
 *
 * @param pins the targets of running sequences
 * @param random thread-safe
 */
public record SelectionState(SequencePins pins, RandomGenerator random) {

    public static SelectionState of(LongSupplier nanoTime) {
        return new SelectionState(
                new SequencePins(nanoTime), () -> ThreadLocalRandom.current().nextLong());
    }
}
