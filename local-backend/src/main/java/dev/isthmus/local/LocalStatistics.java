package dev.isthmus.local;

import dev.isthmus.oip.ModelRef;

/**
 * What a version of a model did since its first load, in the sense of Triton's statistics.
 *
 * @param lastMillis when the last request ended, in milliseconds since the epoch; 0 for never
 * @param inferences rows of requests that succeeded, where requests can be run together; otherwise these requests
 * @param executions runs
 * @param success requests that were answered, with the time from their arrival
 * @param fail requests that failed, with the time from their arrival
 * @param queue requests that were run, with the time until then
 * @param compute requests that were answered, with the time from the start of their run
 */
public record LocalStatistics(
        ModelRef model,
        long lastMillis,
        long inferences,
        long executions,
        Duration success,
        Duration fail,
        Duration queue,
        Duration compute) {

    /** How many, and how long all of them took. */
    public record Duration(long count, long nanos) {}
}
