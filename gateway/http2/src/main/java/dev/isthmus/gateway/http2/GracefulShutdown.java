package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.http2.Http2Stream.StreamFlag;
import io.netty.handler.codec.http2.Http2Error;
import org.jspecify.annotations.Nullable;

/** Graceful shutdown by GOAWAY from either side (RFC 9113, 6.8), and the PINGs that we send. */
final class GracefulShutdown {
    /** Payload of the PING whose acknowledgement shows that the peer has seen our first GOAWAY. */
    private static final long DRAINED = 0x6973_7468_6d75_7300L;

    /** Payload of the keepalive PING. */
    private static final long KEEPALIVE = 0x6973_7468_6d75_7301L;

    private final Http2Session session;
    private final boolean server;
    private ShutdownState own = ShutdownState.OPEN;
    private Http2Error reason = Http2Error.NO_ERROR;
    private boolean peerGoingAway;
    private long peerError;
    private @Nullable Runnable onPong;

    /** Progress of our own shutdown. */
    private enum ShutdownState {
        OPEN,
        /** The first GOAWAY was sent; streams that the peer opened before it knew are still accepted. */
        WARNED,
        /** New streams are no longer accepted. */
        CLOSING
    }

    GracefulShutdown(Http2Session session, boolean server) {
        this.session = session;
        this.server = server;
    }

    boolean acceptsNewStreams() {
        return own == ShutdownState.OPEN && !peerGoingAway;
    }

    /** Whether a stream that the peer opens is still accepted. */
    boolean acceptsPeerStreams() {
        return own != ShutdownState.CLOSING;
    }

    /** The error code of the peer's GOAWAY, 0 if there was none. */
    long peerError() {
        return peerError;
    }

    /** Closes the connection when its streams have ended; no accepted stream is lost. */
    void goAway(Http2Error why) {
        if (own != ShutdownState.OPEN) {
            return;
        }
        if (server) {
            own = ShutdownState.WARNED;
            reason = why;
            session.writer().goAway(Integer.MAX_VALUE, why.code());
            session.writer().ping(false, DRAINED);
        } else {
            own = ShutdownState.CLOSING;
            session.writer().goAway(0, why.code());
        }
        session.flusher().schedule();
        closeIfDone();
    }

    /** Sends a keepalive PING unless an earlier one is not acknowledged, and calls the action when it is. */
    void ping(Runnable whenAcknowledged) {
        if (onPong == null) {
            session.writer().ping(false, KEEPALIVE);
            session.flusher().schedule();
        }
        onPong = whenAcknowledged;
    }

    void pingAcknowledged(long payload) {
        if (payload == DRAINED && own == ShutdownState.WARNED) {
            own = ShutdownState.CLOSING;
            session.writer().goAway(session.streams().lastOfPeer(), reason.code());
            session.flusher().schedule();
            closeIfDone();
        } else if (payload == KEEPALIVE && onPong != null) {
            Runnable callback = onPong;
            onPong = null;
            callback.run();
        }
    }

    void goAwayReceived(int lastStreamId, long errorCode) {
        peerGoingAway = true;
        peerError = errorCode;
        if (server) {
            return;
        }
        session.connection().listener().goingAway(errorCode);
        for (Http2Stream stream : session.streams().inOrder()) {
            if (stream.id() > lastStreamId && !stream.is(StreamFlag.CLOSED)) {
                session.abort(stream, new StreamEnd(StreamEnd.Cause.REFUSED, errorCode, null));
            }
        }
        closeIfDone();
    }

    void closeIfDone() {
        boolean closing = own == ShutdownState.CLOSING || (peerGoingAway && !server);
        if (closing && !session.isClosed() && session.streams().size() == 0) {
            session.closeAfterFlush();
        }
    }
}
