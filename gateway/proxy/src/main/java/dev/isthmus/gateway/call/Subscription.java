package dev.isthmus.gateway.call;

/** The end in one's hand of something under way. Called on the call's event loop. */
@FunctionalInterface
public interface Subscription {

    Subscription NONE = () -> {};

    /** Ends it, because nobody waits for the outcome any more. Idempotent. */
    void cancel();

    /** Goes on with answers, after {@link Reply#isReady()} was false. */
    default void onReady() {}
}
