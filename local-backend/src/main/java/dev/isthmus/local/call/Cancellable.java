package dev.isthmus.local.call;

/** Ends a request whose outcome nobody waits for; its callback is called all the same. From any thread. */
@FunctionalInterface
public interface Cancellable {
    void cancel();
}
