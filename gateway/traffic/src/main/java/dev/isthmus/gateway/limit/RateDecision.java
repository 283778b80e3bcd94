package dev.isthmus.gateway.limit;

import java.util.concurrent.CompletableFuture;

/** Whether a limit admits what was asked for. */
public sealed interface RateDecision {
    RateDecision ADMITTED = new Admitted();

    /** See {@link #ADMITTED}. */
    record Admitted() implements RateDecision {}

    /**
     * Not admitted.
     *
     * @param nanos until it would be
     */
    record Exceeded(long nanos) implements RateDecision {}

    /** Not admitted, because the limit is shared and cannot be read. */
    record Unreadable() implements RateDecision {}

    /** Decided later, on any thread, by one of the others. */
    final class Undecided extends CompletableFuture<RateDecision> implements RateDecision {}
}
