package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.http2.Http2Stream.StreamFlag;
import dev.isthmus.gateway.net.ConnectionTimeouts;
import dev.isthmus.gateway.net.TimeoutRule;
import io.netty.handler.codec.http2.Http2Error;
import java.util.function.Consumer;

/** Enforces the timeouts of a connection, by periodic checks. */
final class Http2Timers {
    private final Http2Session session;
    private final FrameReader reader;
    private long reads;
    private long readAt;
    private boolean pinged;
    private long pingedAt;
    private long begun = -1;
    private long incompleteSince;
    private int lastStream;
    private long idleSince;
    private boolean goAwaySent;

    Http2Timers(Http2Session session, FrameReader reader, long now) {
        this.session = session;
        this.reader = reader;
        this.readAt = now;
        this.idleSince = now;
    }

    /** When the last stream ended, as far as the last check knows. */
    long idleSince() {
        return idleSince;
    }

    /** @param readsNow number of reads so far */
    void check(long readsNow, long now, ConnectionTimeouts timeouts, Consumer<TimeoutRule> expired) {
        if (readsNow != reads) {
            reads = readsNow;
            readAt = now;
            pinged = false;
        }
        for (Http2Stream stream : session.streams().all()) {
            if (!stream.is(StreamFlag.CLOSED)) {
                stream.checkTime(now, timeouts, expired);
            }
        }
        if (incompleteFor(timeouts.requestHeaders(), now)) {
            end(TimeoutRule.REQUEST_HEADERS, Http2Error.ENHANCE_YOUR_CALM, expired);
        } else if (keepaliveExpired(timeouts, now)) {
            end(TimeoutRule.KEEPALIVE, Http2Error.NO_ERROR, expired);
        } else {
            idle(timeouts, now, expired);
        }
    }

    private void end(TimeoutRule rule, Http2Error error, Consumer<TimeoutRule> expired) {
        expired.accept(rule);
        session.closeWithGoAway(error);
    }

    private boolean incompleteFor(long timeout, long now) {
        if (!reader.incomplete() || reader.framesBegun() != begun) {
            begun = reader.framesBegun();
            incompleteSince = now;
            return false;
        }
        return ConnectionTimeouts.passed(timeout, incompleteSince, now);
    }

    private boolean keepaliveExpired(ConnectionTimeouts timeouts, long now) {
        if (pinged) {
            return ConnectionTimeouts.passed(timeouts.keepaliveTimeout(), pingedAt, now);
        }
        if (ConnectionTimeouts.passed(timeouts.keepaliveInterval(), readAt, now)
                && session.shutdown().ping(() -> {})) {
            pinged = true;
            pingedAt = now;
        }
        return false;
    }

    /** Sends GOAWAY to a client without streams, and closes the connection if the client does not. */
    private void idle(ConnectionTimeouts timeouts, long now, Consumer<TimeoutRule> expired) {
        int last = session.streams().lastOfPeer();
        if (session.streams().size() > 0 || last != lastStream) {
            lastStream = last;
            idleSince = now;
        } else if (goAwaySent && ConnectionTimeouts.passed(timeouts.requestHeaders(), idleSince, now)) {
            session.closeWithGoAway(Http2Error.NO_ERROR);
        } else if (!goAwaySent && ConnectionTimeouts.passed(timeouts.idle(), idleSince, now)) {
            goAwaySent = true;
            idleSince = now;
            expired.accept(TimeoutRule.IDLE);
            session.shutdown().goAway(Http2Error.NO_ERROR);
        }
    }
}
