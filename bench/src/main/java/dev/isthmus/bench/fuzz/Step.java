package dev.isthmus.bench.fuzz;

/** What a client does with its connection. */
sealed interface Step {
    /** Sends bytes in pieces of at most that size, with a pause after each. */
    record Send(byte[] bytes, int piece, int pauseMillis) implements Step {
        /** In one write. */
        Send(byte[] bytes) {
            this(bytes, Integer.MAX_VALUE, 0);
        }
    }

    /** Waits, while what comes is read. */
    record Pause(int millis) implements Step {}

    /** Reads nothing any more. */
    record Deaf() implements Step {}

    /** Waits until the other side closes, for so long at most. */
    record Await(int millis) implements Step {}

    /** Sends nothing any more, and says so. */
    record HalfClose() implements Step {}

    /** Closes with RST instead of FIN. */
    record Reset() implements Step {}
}
