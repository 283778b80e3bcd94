package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.http2.Http2Stream.StreamFlag;
import dev.isthmus.gateway.http2.StreamListener.PeerWait;
import dev.isthmus.gateway.net.BodyProgress;
import dev.isthmus.gateway.net.ConnectionTimeouts;
import dev.isthmus.gateway.net.TimeoutRule;
import org.jspecify.annotations.Nullable;

/** Enforces the timeouts of one stream, by periodic checks. */
final class StreamTimer {
    private final Http2Stream stream;
    private final BodyProgress body = new BodyProgress();
    private boolean inBody;
    /** Bytes sent and received at the last progress. */
    private long transferred;

    private long progressAt;

    StreamTimer(Http2Stream stream, long now) {
        this.stream = stream;
        progress(now);
    }

    private void progress(long now) {
        transferred = stream.received() + stream.sent();
        progressAt = now;
    }

    /** The timeout that has expired, null if none. */
    @Nullable
    TimeoutRule check(long now, ConnectionTimeouts timeouts) {
        if (stream.received() + stream.sent() != transferred) {
            progress(now);
        }
        if (stream.queue() != null) {
            inBody = false;
            return queued(now, timeouts);
        }
        return awaited(now, timeouts);
    }

    /** A complete response must be read within the write timeout; a stream may pause for the stream idle timeout. */
    private @Nullable TimeoutRule queued(long now, ConnectionTimeouts timeouts) {
        boolean complete = stream.is(StreamFlag.COMPLETE);
        long timeout = complete ? timeouts.write() : timeouts.streamIdle();
        if (!ConnectionTimeouts.passed(timeout, progressAt, now)) {
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
                progressAt = now;
                yield null;
            }
            case BODY -> body.check(stream.received(), now, timeouts);
            case ANYTHING ->
                ConnectionTimeouts.passed(timeouts.streamIdle(), progressAt, now) ? TimeoutRule.STREAM_IDLE : null;
        };
    }
}
