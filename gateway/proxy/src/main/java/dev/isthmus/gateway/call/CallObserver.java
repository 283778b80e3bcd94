package dev.isthmus.gateway.call;

/** Follows the calls of clients. Called on the event loop of each; nothing is thrown. */
@FunctionalInterface
public interface CallObserver {

    /** A call has begun, or a request was refused before it became one. */
    default void began(CallContext call) {}

    /** A call has ended: exactly once for each that began, after its client was told. */
    void ended(CallContext call);
}
