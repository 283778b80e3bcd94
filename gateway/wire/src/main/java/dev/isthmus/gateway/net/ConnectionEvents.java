package dev.isthmus.gateway.net;

/** Receives events of client connections; called on any event loop. */
public interface ConnectionEvents {
    /** Ignores all events. */
    ConnectionEvents NONE = new ConnectionEvents() {};

    default void opened() {}

    default void closed(CloseCause cause) {}

    default void timedOut(TimeoutRule rule) {}

    /** A connection was closed because a limit of all connections was exceeded. */
    default void refused(OpenConnections.ConnectionLimit limit) {}
}
