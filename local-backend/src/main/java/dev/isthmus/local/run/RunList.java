package dev.isthmus.local.run;

import org.jspecify.annotations.Nullable;

/**
 * An intrusive linked list of runs in order of arrival: removal takes constant time, and nothing is allocated. Not
 * thread-safe.
 */
final class RunList {
    private @Nullable LocalRun first;
    private @Nullable LocalRun last;
    private int size;

    int size() {
        return size;
    }

    @Nullable
    LocalRun first() {
        return first;
    }

    void add(LocalRun run) {
        run.before = last;
        if (last == null) {
            first = run;
        } else {
            last.after = run;
        }
        last = run;
        run.queued = true;
        size++;
    }

    void remove(LocalRun run) {
        if (run.before == null) {
            first = run.after;
        } else {
            run.before.after = run.after;
        }
        if (run.after == null) {
            last = run.before;
        } else {
            run.after.before = run.before;
        }
        run.before = null;
        run.after = null;
        run.queued = false;
        size--;
    }
}
