package dev.isthmus.bench.fuzz;

/** Waits for threads without throwing InterruptedException. */
final class ThreadJoin {
    private ThreadJoin() {}

    /** Waits until the thread has ended, the timeout has expired, or this thread is interrupted. */
    static void join(Thread thread, long millis) {
        try {
            thread.join(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
