package dev.isthmus.gateway.net;

/** Hears what became of clients' connections; on any event loop. */
public interface ConnectionEvents {
    /** Hears nothing. */
    ConnectionEvents NONE = new ConnectionEvents() {};

    /** A connection, or a request on it, was given up. */
    default void timedOut(TimeoutRule rule) {}

    /** A connection was closed at once because there are too many. */
    default void refused(OpenConnections.ConnectionLimit limit) {}
}
