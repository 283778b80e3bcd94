package dev.isthmus.gateway.http2;

/**
 * Limits on the load that a peer may cause on one connection before the connection is closed (RFC 9113, 10.5). Resets,
 * errors and control frames are token buckets. Completed streams earn resets; DATA and new streams earn control frames.
 *
 * @param streamResets streams that the peer resets before a response; each completed stream returns one token
 * @param streamErrors streams that we reset because of the peer's protocol errors
 * @param controlFrames frames that carry no data: see {@link AbuseRule#CONTROL_FRAMES}
 * @param controlFramesPerData control frames that are free for each DATA frame in either direction and for each stream
 * @param queuedFrames frames caused by the peer that may be queued while it is not reading; 0 for no limit
 */
public record AbuseLimits(
        BucketLimit streamResets,
        BucketLimit streamErrors,
        BucketLimit controlFrames,
        int controlFramesPerData,
        int queuedFrames) {

    public static final AbuseLimits NONE = new AbuseLimits(BucketLimit.ANY, BucketLimit.ANY, BucketLimit.ANY, 0, 0);

    /**
     * A token bucket.
     *
     * @param burst capacity in tokens; 0 for no limit
     * @param perSecond tokens refilled each second
     */
    public record BucketLimit(int burst, int perSecond) {
        public static final BucketLimit ANY = new BucketLimit(0, 0);

        @Override
        public String toString() {
            return burst + " at once and " + perSecond + " a second";
        }
    }
}
