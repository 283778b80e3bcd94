package dev.isthmus.gateway.http2;

/**
 * What a peer may cost us on one connection before it is closed (RFC 9113, 10.5). Resets, errors and control frames are
 * token buckets: what costs takes from them, and time fills them again. Answered streams pay for resets, DATA and new
 * streams for control frames.
 *
 * @param streamResets streams that the peer resets before an answer; each stream that is answered gives one back
 * @param streamErrors streams that we reset because the peer broke the protocol on them
 * @param controlFrames frames that carry nothing
 * @param controlFramesPerData control frames that are free for each DATA frame of either side, and for each stream
 * @param queuedFrames frames caused by the peer that may wait while it reads nothing; 0: any number
 */
public record AbuseLimits(
        BucketLimit streamResets,
        BucketLimit streamErrors,
        BucketLimit controlFrames,
        int controlFramesPerData,
        int queuedFrames) {

    /** Everything is taken. */
    public static final AbuseLimits NONE = new AbuseLimits(BucketLimit.ANY, BucketLimit.ANY, BucketLimit.ANY, 0, 0);

    public AbuseLimits {
        requireNotNegative("controlFramesPerData", controlFramesPerData);
        requireNotNegative("queuedFrames", queuedFrames);
    }

    /**
     * A token bucket.
     *
     * @param burst so many at once; 0: any number
     * @param perSecond so many come back each second
     */
    public record BucketLimit(int burst, int perSecond) {
        public static final BucketLimit ANY = new BucketLimit(0, 0);

        public BucketLimit {
            requireNotNegative("burst", burst);
            requireNotNegative("perSecond", perSecond);
        }

        @Override
        public String toString() {
            return burst + " at once and " + perSecond + " a second";
        }
    }

    private static void requireNotNegative(String name, int value) {
        if (value < 0) {
            throw new IllegalArgumentException(name + " must be at least 0, is " + value);
        }
    }
}
