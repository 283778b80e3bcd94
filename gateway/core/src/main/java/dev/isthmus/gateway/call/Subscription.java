package dev.isthmus.gateway.call;

/**
 * Handle of an in-flight operation. Called on the call's event loop. Has no effect once the operation has ended.
 *
 * <p>An operation may end, and its caller may lose interest in it, before the method that starts it returns. Whoever
 * keeps the handle passes it through {@link #cancelIf}, the only guard that this needs:
 * {@code inFlight = upstream.send(...).cancelIf(ended)}.
 */
@FunctionalInterface
public interface Subscription {

    Subscription NONE = () -> {};

    /** Cancels the operation because its result is not needed any more. Idempotent. */
    void cancel();

    /** Resumes the delivery of responses, after {@link Reply#isReady()} was false. */
    default void onReady() {}

    /**
     * Returns the handle to keep of an operation that was just started; cancels the operation if it is not needed any
     * more.
     *
     * @param ended whether the caller has ended, evaluated after the method that starts the operation has returned
     */
    default Subscription cancelIf(boolean ended) {
        if (!ended) {
            return this;
        }
        cancel();
        return NONE;
    }
}
