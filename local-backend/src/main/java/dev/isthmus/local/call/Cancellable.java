package dev.isthmus.local.call;

/** Cancels a request; its callback is still called. Thread-safe. */
@FunctionalInterface
public interface Cancellable {
    void cancel();
}
