package dev.isthmus.gateway.batching;

import dev.isthmus.gateway.settings.BatchingConfig;

/**
 * The bounds of one call.
 *
 * @param rows of all requests in it
 * @param bytes of its inputs
 * @param delayNanos the longest time that a request waits
 */
record BatchBounds(int rows, long bytes, long delayNanos) {

    static BatchBounds of(BatchingConfig config) {
        return new BatchBounds(
                config.maxBatchSize(), config.maxBytes(), config.maxQueueDelay().toNanos());
    }

    /** The same with no more than this many rows. */
    BatchBounds atMost(int most) {
        return new BatchBounds(Math.min(rows, most), bytes, delayNanos);
    }
}
