package dev.isthmus.bench.fuzz;

/** Waits for threads where nothing may be thrown for it. */
final class ThreadJoin {
    private ThreadJoin() {}

    /** Returns when the thread has ended, so many milliseconds have passed, or this thread is interrupted. */
    static void join(Thread thread, long millis) {
        try {
            thread.join(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
