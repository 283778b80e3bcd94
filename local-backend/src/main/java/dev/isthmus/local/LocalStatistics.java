package dev.isthmus.local;

import dev.isthmus.oip.ModelRef;

/**
 * The statistics of a model version since its first load, as Triton defines them.
 *
 * @param lastMillis the time at which the last request ended, in milliseconds since the epoch; 0 if none has
 * @param inferences the rows of successful requests if the model is batched, else the number of successful requests
 * @param executions the number of runs
 * @param success the successful requests, with the time since their arrival
 * @param fail the failed requests, with the time since their arrival
 * @param queue the requests that were run, with the time they were queued
 * @param compute the successful requests, with the time since the start of their run
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

    /** A count and the total time, in nanoseconds. */
    public record Duration(long count, long nanos) {}
}
