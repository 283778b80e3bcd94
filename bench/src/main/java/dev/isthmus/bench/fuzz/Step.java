package dev.isthmus.bench.fuzz;

/** An action of a client on its connection. */
sealed interface Step {
    /** Sends bytes in pieces of at most this size, with a pause after each. */
    record Send(byte[] bytes, int piece, int pauseMillis) implements Step {
        /** Sends bytes in one write. */
        Send(byte[] bytes) {
            this(bytes, Integer.MAX_VALUE, 0);
        }
    }

    /** Waits, while received bytes are still read. */
    record Pause(int millis) implements Step {}

    /** Stops reading. */
    record Deaf() implements Step {}

    /** Waits until the peer closes, for at most this long. */
    record Await(int millis) implements Step {}

    /** Shuts down output (FIN). */
    record HalfClose() implements Step {}

    /** Closes with RST instead of FIN. */
    record Reset() implements Step {}
}
