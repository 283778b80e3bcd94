package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.http2.Http2Stream.StreamFlag;
import dev.isthmus.gateway.http2.StreamListener.PeerWait;
import dev.isthmus.gateway.net.BodyProgress;
import dev.isthmus.gateway.net.ConnectionTimeouts;
import dev.isthmus.gateway.net.TimeoutRule;
import org.jspecify.annotations.Nullable;

/** Tells how long the peer of one stream has let us wait, from looks at it from time to time. */
final class StreamTimer {
    private final Http2Stream stream;
    private final BodyProgress body = new BodyProgress();
    private boolean inBody;
    private long moved;
    private long movedAt;

    StreamTimer(Http2Stream stream, long now) {
        this.stream = stream;
        moved(now);
    }

    private void moved(long now) {
        moved = stream.received() + stream.sent();
        movedAt = now;
    }

    /** The limit that the stream has met. */
    @Nullable
    TimeoutRule check(long now, ConnectionTimeouts timeouts) {
        if (stream.received() + stream.sent() != moved) {
            moved(now);
        }
        if (stream.queue() != null) {
            inBody = false;
            return queued(now, timeouts);
        }
        return awaited(now, timeouts);
    }

    /** What is complete is taken by a client that is well; a stream's client may let it wait for a while. */
    private @Nullable TimeoutRule queued(long now, ConnectionTimeouts timeouts) {
        boolean complete = stream.is(StreamFlag.COMPLETE);
        long timeout = complete ? timeouts.write() : timeouts.streamIdle();
        if (!ConnectionTimeouts.passed(timeout, movedAt, now)) {
            return null;
        }
        return complete ? TimeoutRule.WRITE : TimeoutRule.STREAM_IDLE;
    }

    private @Nullable TimeoutRule awaited(long now, ConnectionTimeouts timeouts) {
        PeerWait awaited = stream.is(StreamFlag.REMOTE_ENDED)
                ? PeerWait.NOTHING
                : stream.listener().awaited();
        boolean began = awaited == PeerWait.BODY && !inBody;
        inBody = awaited == PeerWait.BODY;
        if (began) {
            body.begin(stream.received(), now);
        }
        return switch (awaited) {
            case NOTHING -> {
                movedAt = now;
                yield null;
            }
            case BODY -> body.check(stream.received(), now, timeouts);
            case ANYTHING ->
                ConnectionTimeouts.passed(timeouts.streamIdle(), movedAt, now) ? TimeoutRule.STREAM_IDLE : null;
        };
    }
}
