package dev.isthmus.gateway.http2;

import org.jspecify.annotations.Nullable;

/** Receives the events of one connection, on its event loop. */
public interface ConnectionListener {
    /** The peer's first SETTINGS were received: it speaks HTTP/2, and its limits are known. */
    default void ready() {}

    /**
     * No more streams can be opened: the peer accepts none (GOAWAY), or all identifiers are used. Streams that the peer
     * will not process are closed next; others continue.
     */
    default void goingAway(long errorCode) {}

    /** A stream has ended, or the peer's limit grew: {@link Http2Connection#acceptsStreams} may have become true. */
    default void streamClosed() {}

    /**
     * The connection is being closed because the peer exceeded {@link AbuseLimits}. Called at most once.
     *
     * @param what the peer did, with the counts
     */
    default void abused(AbuseRule rule, String what) {}

    /**
     * The connection is closed. Called once, after all its streams were closed: up to one second after, if the peer
     * does not close its side.
     *
     * @param cause null if either side closed the connection normally
     */
    default void closed(@Nullable Throwable cause) {}
}
