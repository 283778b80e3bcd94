package dev.isthmus.gateway.queue;

/**
 * How long calls wait, from the times between the last calls that were taken while others waited. Times are on one scale,
 * in nanoseconds. Not thread-safe.
 */
public final class WaitEstimate {
    private static final int ENOUGH = 8;
    private static final double NEWEST = 1.0 / 8;

    private double interval;
    private int measured;
    private long last;

    /** The first call waits. */
    public void began(long now) {
        last = now;
    }

    /** A call was taken. */
    public void taken(long now) {
        double seen = (double) Math.max(0, now - last);
        last = now;
        interval = measured == 0 ? seen : interval + (seen - interval) * NEWEST;
        measured = Math.min(measured + 1, ENOUGH);
    }

    /** How long a call waits that has this many before it; 0 if that is not known. */
    public long nanos(long ahead) {
        return measured < ENOUGH ? 0 : (long) (interval * (ahead + 1));
    }
}
