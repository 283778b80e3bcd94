package dev.isthmus.gateway.ingress;

import io.netty.channel.ChannelHandlerContext;
import java.util.concurrent.TimeUnit;

/**
 * Detects that a client has disconnected while its pipelined requests wait for a response. The end of the connection
 * comes after the bytes already sent, and reading is paused: so a little more is read every second, up to a bound.
 */
final class DisconnectDetector {
    /** Reading stops when this many bytes are buffered. */
    static final int MAX_BUFFERED = 256 << 10;

    private static final long INTERVAL_MILLIS = 1_000;

    private final RequestReader reader;
    private boolean scheduled;

    DisconnectDetector(RequestReader reader) {
        this.reader = reader;
    }

    /** Schedules the next check after a read. */
    void readComplete(ChannelHandlerContext ctx) {
        if (reader.isPaused() && !scheduled && reader.unread() < MAX_BUFFERED) {
            scheduled = true;
            ctx.executor().schedule(() -> check(ctx), INTERVAL_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    private void check(ChannelHandlerContext ctx) {
        scheduled = false;
        if (ctx.channel().isActive() && reader.isPaused()) {
            // Its completion calls readComplete again if there was anything.
            ctx.read();
        }
    }
}
