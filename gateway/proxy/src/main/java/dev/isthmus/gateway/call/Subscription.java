package dev.isthmus.gateway.call;

/** Handle of an in-flight operation. Called on the call's event loop. */
@FunctionalInterface
public interface Subscription {

    Subscription NONE = () -> {};

    /** Cancels the operation because its result is not needed any more. Idempotent. */
    void cancel();

    /** Resumes the delivery of responses, after {@link Reply#isReady()} was false. */
    default void onReady() {}
}
