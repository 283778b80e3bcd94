package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.grpc.GrpcNames;
import dev.isthmus.gateway.grpc.GrpcTimeout;
import dev.isthmus.gateway.http2.HeaderFieldList;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The timeout of one call. Used on the event loop of the call. */
final class CallTimeout {
    private final long nanos;
    private final boolean inHead;
    private @Nullable ScheduledFuture<?> timer;

    /**
     * A timeout that has not started.
     *
     * @param nanos {@link Long#MAX_VALUE} for none
     * @param inHead whether the request headers already contain it
     */
    CallTimeout(long nanos, boolean inHead) {
        this.nanos = nanos;
        this.inHead = inHead;
    }

    long nanos() {
        return nanos;
    }

    /** Starts the timeout; false if no time is left. */
    boolean start(EventLoop loop, Runnable expired) {
        if (nanos > 0 && nanos != Long.MAX_VALUE) {
            timer = loop.schedule(expired, nanos, TimeUnit.NANOSECONDS);
        }
        return nanos > 0;
    }

    void stop() {
        if (timer != null) {
            timer.cancel(false);
        }
    }

    /** Whether it has expired, which a server that knows the deadline may notice before us. */
    boolean expired() {
        return timer != null && timer.getDelay(TimeUnit.NANOSECONDS) <= 0;
    }

    /** These request headers with the time that is left. */
    HeaderFieldList in(HeaderFieldList head) {
        return timer == null || inHead
                ? head
                : head.with(GrpcNames.TIMEOUT, GrpcTimeout.value(timer.getDelay(TimeUnit.NANOSECONDS)));
    }
}
