package dev.isthmus.gateway.call;

/** Ends something under way whose outcome nobody waits for any more. Idempotent; called on the call's event loop. */
@FunctionalInterface
public interface Cancellation {

    Cancellation NONE = () -> {};

    void cancel();
}
