package dev.isthmus.bench.faults;

/** A scenario could not be played; its message says why. */
final class ScenarioException extends Exception {
    ScenarioException(String message) {
        super(message);
    }
}
