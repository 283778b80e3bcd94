package dev.isthmus.gateway.diagnosis;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The last calls of one event loop. If there are many, only the first of each tenth of a second are kept, and failed
 * ones apart from the others. Written on the loop, read on any thread.
 */
final class CallRing {
    static final int SIZE = 256;
    /** Calls of each kind that are kept in a tenth of a second. */
    static final int KEPT = 10;

    private static final long WINDOW_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final AtomicReferenceArray<@Nullable EndedCall> last = new AtomicReferenceArray<>(SIZE);
    private int next;
    private long windowNanos;
    private int failed;
    private int others;
    private volatile long seen;
    private volatile long kept;

    /** Counts a call; whether it is to be added. */
    @SuppressWarnings("NonAtomicVolatileUpdate") // only the loop writes
    boolean admits(boolean failure, long now) {
        seen++;
        if (now - windowNanos >= WINDOW_NANOS || seen == 1) {
            windowNanos = now;
            failed = 0;
            others = 0;
        }
        return failure ? failed++ < KEPT : others++ < KEPT;
    }

    @SuppressWarnings("NonAtomicVolatileUpdate") // only the loop writes
    void add(EndedCall call) {
        kept++;
        last.set(next, call);
        next = (next + 1) % SIZE;
    }

    /** All calls, those that are not kept included. */
    long seen() {
        return seen;
    }

    /** The calls that were added. */
    long kept() {
        return kept;
    }

    /** Adds the calls after this number. */
    void copyTo(List<EndedCall> calls, long after) {
        for (int i = 0; i < SIZE; i++) {
            EndedCall call = last.get(i);
            if (call != null && call.number() > after) {
                calls.add(call);
            }
        }
    }
}
