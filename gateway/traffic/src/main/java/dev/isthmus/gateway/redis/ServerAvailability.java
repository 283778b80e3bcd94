package dev.isthmus.gateway.redis;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Decides whether Redis is used. It is not if the connection fails, if no response came in time for a second (on a busy
 * host single responses are late), or if at least half of the responses of up to 5 s are late. After such a loss it is
 * used again when all responses were in time for {@code recovery}. That time doubles with each loss within a minute of a
 * return. Thread-safe.
 */
final class ServerAvailability {
    /** Silence after which Redis is lost; several commands are sent in this time, whatever the load. */
    static final long PATIENCE = TimeUnit.SECONDS.toNanos(1);

    private static final long WINDOW = TimeUnit.SECONDS.toNanos(5);
    private static final int MANY_LATE = 5;
    private static final int LEAST_ANSWERS = 3;
    /** Time after a return in which a loss doubles the recovery; also the longest recovery. */
    private static final long SOON = TimeUnit.MINUTES.toNanos(1);

    private final LongSupplier nanoTime;
    private final long recovery;
    private volatile boolean answers;

    // Guarded by this.
    private long answered;
    private long lost;
    private boolean known;
    private long returned;
    private long required;
    private int inRow;
    private long firstInRow;
    private AnswerCounts counts;

    private record AnswerCounts(long since, int inTime, int late) {
        AnswerCounts at(long now) {
            return now - since > WINDOW ? new AnswerCounts(now, 0, 0) : this;
        }

        AnswerCounts plus(int moreInTime, int moreLate) {
            return new AnswerCounts(since, inTime + moreInTime, late + moreLate);
        }

        boolean slow() {
            return late >= MANY_LATE && late >= inTime;
        }
    }

    /**
     * Of a server that has not answered yet: it is used from its first answer.
     *
     * @param recovery how long all answers must be in time after a loss
     * @param nanoTime as {@link System#nanoTime()}
     */
    ServerAvailability(Duration recovery, LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.recovery = recovery.toNanos();
        required = this.recovery;
        answered = nanoTime.getAsLong();
        lost = answered;
        counts = new AnswerCounts(answered, 0, 0);
    }

    /** Whether the server is used. */
    boolean answers() {
        return answers;
    }

    /** Whether the server answers in time, but not for long enough. */
    synchronized boolean recovering() {
        return !answers && inRow > 0;
    }

    /** An answer came in time. Returns whether the server is used because of it. */
    synchronized boolean inTime() {
        long now = nanoTime.getAsLong();
        answered = now;
        counts = counts.at(now).plus(1, 0);
        if (inRow++ == 0) {
            firstInRow = now;
        }
        boolean changed = !answers && (!known || (inRow >= LEAST_ANSWERS && now - firstInRow >= required));
        if (changed) {
            returned = known ? now : now - SOON;
            answers = true;
            known = true;
            counts = new AnswerCounts(now, 0, 0);
        }
        return changed;
    }

    /** An answer did not come in time. Returns whether the server is not used because of it. */
    synchronized boolean late() {
        long now = nanoTime.getAsLong();
        counts = counts.at(now).plus(0, 1);
        boolean away = now - answered >= PATIENCE || counts.slow();
        inRow = 0;
        return away && lose(now);
    }

    /** The connection is of no use. Returns whether the server is not used because of it. */
    synchronized boolean failed() {
        inRow = 0;
        return lose(nanoTime.getAsLong());
    }

    private boolean lose(long now) {
        if (!answers) {
            return false;
        }
        answers = false;
        lost = now;
        required = now - returned < SOON ? Math.min(required * 2, Math.max(SOON, recovery)) : recovery;
        return true;
    }

    /** Whether it is not used, and no answer came for longer than a time. */
    synchronized boolean silentFor(long nanos) {
        long now = nanoTime.getAsLong();
        return !answers && Math.min(now - lost, now - answered) > nanos;
    }
}
