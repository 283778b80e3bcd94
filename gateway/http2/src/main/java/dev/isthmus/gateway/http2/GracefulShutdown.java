package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.http2.Http2Stream.StreamFlag;
import io.netty.handler.codec.http2.Http2Error;
import org.jspecify.annotations.Nullable;

/** GOAWAY of both sides (RFC 9113, 6.8), and the PINGs that we send. */
final class GracefulShutdown {
    /** Asks whether the peer has seen our first GOAWAY. */
    private static final long DRAINED = 0x6973_7468_6d75_7300L;

    /** Asks for a sign of life. */
    private static final long ALIVE = 0x6973_7468_6d75_7301L;

    private final Http2Session session;
    private final boolean server;
    private ShutdownState own = ShutdownState.STAYS;
    private Http2Error reason = Http2Error.NO_ERROR;
    private boolean peerGoes;
    private long peerError;
    private @Nullable Runnable answered;

    /** How far we are in leaving. */
    private enum ShutdownState {
        STAYS,
        /** The peer has been warned; what it sent before it knew is still taken. */
        WARNED,
        /** Nothing new is taken. */
        LEAVES
    }

    GracefulShutdown(Http2Session session, boolean server) {
        this.session = session;
        this.server = server;
    }

    boolean takesStreams() {
        return own == ShutdownState.STAYS && !peerGoes;
    }

    /** Whether a stream that the peer opens is still served. */
    boolean takesStreamOfPeer() {
        return own != ShutdownState.LEAVES;
    }

    /** The code of the peer's GOAWAY, 0 without one. */
    long peerError() {
        return peerError;
    }

    /** Ends the connection once its streams have ended; none is lost by it. */
    void goAway(Http2Error why) {
        if (own != ShutdownState.STAYS) {
            return;
        }
        if (server) {
            own = ShutdownState.WARNED;
            reason = why;
            session.writer().goAway(Integer.MAX_VALUE, why.code());
            session.writer().ping(false, DRAINED);
        } else {
            own = ShutdownState.LEAVES;
            session.writer().goAway(0, why.code());
        }
        session.flusher().touch();
        closeIfDone();
    }

    /** Asks for a sign of life: false while an earlier one is unanswered. */
    boolean ping(Runnable whenAnswered) {
        if (answered != null) {
            return false;
        }
        answered = whenAnswered;
        session.writer().ping(false, ALIVE);
        session.flusher().touch();
        return true;
    }

    void pong(long payload) {
        if (payload == DRAINED && own == ShutdownState.WARNED) {
            own = ShutdownState.LEAVES;
            session.writer().goAway(session.streams().lastOfPeer(), reason.code());
            session.flusher().touch();
            closeIfDone();
        } else if (payload == ALIVE && answered != null) {
            Runnable told = answered;
            answered = null;
            told.run();
        }
    }

    void peerGoesAway(int lastStreamId, long errorCode) {
        peerGoes = true;
        peerError = errorCode;
        if (server) {
            return;
        }
        for (Http2Stream stream : session.streams().inOrder()) {
            if (stream.id() > lastStreamId && !stream.is(StreamFlag.CLOSED)) {
                session.abort(stream, new StreamEnd(StreamEnd.Cause.REFUSED, errorCode, null));
            }
        }
        session.connection().listener().goingAway(errorCode);
        closeIfDone();
    }

    void closeIfDone() {
        boolean leaves = own == ShutdownState.LEAVES || (peerGoes && !server);
        if (leaves && !session.isClosed() && session.streams().size() == 0) {
            session.closeAfterFlush();
        }
    }
}
