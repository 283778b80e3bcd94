package dev.isthmus.bench.process;

/** A scenario could not be run or measured; the message says why. */
public final class BenchException extends Exception {
    public BenchException(String message) {
        super(message);
    }
}
