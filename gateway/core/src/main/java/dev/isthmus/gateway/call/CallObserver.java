package dev.isthmus.gateway.call;

/** Observes the calls of clients. Called on the event loop of each call; must not throw. */
@FunctionalInterface
public interface CallObserver {

    /** A call has started, or a request was rejected before it became one. */
    default void began(CallContext call) {}

    /**
     * The route of a call that has started is known, or that it has none. The call may have ended already if it was
     * refused at once.
     */
    default void routed(CallContext call) {}

    /** A call has ended: exactly once for each that started, after its response was written. */
    void ended(CallContext call);
}
