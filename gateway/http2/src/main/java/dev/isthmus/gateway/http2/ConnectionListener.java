package dev.isthmus.gateway.http2;

import org.jspecify.annotations.Nullable;

/** Hears how a connection fares; on its event loop. */
public interface ConnectionListener {
    /** Hears nothing. */
    ConnectionListener NONE = new ConnectionListener() {};

    /** The peer's first SETTINGS have arrived: it speaks HTTP/2, and its limits are known. */
    default void ready() {}

    /** The peer takes no new streams (GOAWAY); those it still serves go on. Those it does not have been closed. */
    default void goingAway(long errorCode) {}

    /** A stream has ended, or the peer's limit grew: {@link Http2Connection#takesStreams} may have become true. */
    default void streamClosed() {}

    /**
     * The connection is being closed because the peer went beyond {@link AbuseLimits}. Called once at most.
     *
     * @param what the peer did, with the counts
     */
    default void abused(AbuseRule rule, String what) {}

    /**
     * The connection is closed, after all its streams: up to a second after, when the peer does not close its side.
     * Called once.
     *
     * @param cause null where either side closed it in order
     */
    default void closed(@Nullable Throwable cause) {}
}
