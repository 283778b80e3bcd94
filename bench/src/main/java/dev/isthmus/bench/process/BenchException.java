package dev.isthmus.bench.process;

/** Something could not be played or measured; its message says why. */
public final class BenchException extends Exception {
    public BenchException(String message) {
        super(message);
    }
}
