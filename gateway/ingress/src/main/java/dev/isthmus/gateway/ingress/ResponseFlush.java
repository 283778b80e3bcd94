package dev.isthmus.gateway.ingress;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundBuffer;

/**
 * Flushes the responses of an HTTP/1.1 connection: those of pipelined requests that are answered at once together, when
 * the read or the turn in which they were handled is complete, and any other response at once.
 */
final class ResponseFlush {
    /** Nested sections in which flushes are deferred. */
    private int deferring;

    private boolean reading;
    private boolean pending;

    /** Messages are decoded: outside of a turn they were read from the socket, and {@link #readComplete} follows. */
    void reads() {
        reading |= deferring == 0;
    }

    void readComplete(ChannelHandlerContext ctx) {
        reading = false;
        flushIfComplete(ctx);
    }

    /** Messages are handled until {@link #end}. */
    void begin() {
        deferring++;
    }

    void end(ChannelHandlerContext ctx) {
        deferring--;
        flushIfComplete(ctx);
    }

    /** A response was written. */
    void flush(ChannelHandlerContext ctx) {
        pending = true;
        flushIfComplete(ctx);
    }

    /** Whether a response that is written now is flushed together with others. */
    boolean isDeferred() {
        return reading || deferring > 0;
    }

    /** Bytes of the connection that were written and not sent. */
    static long pendingBytes(ChannelHandlerContext ctx) {
        ChannelOutboundBuffer waiting = ctx.channel().unsafe().outboundBuffer();
        return waiting == null ? 0 : waiting.totalPendingWriteBytes();
    }

    private void flushIfComplete(ChannelHandlerContext ctx) {
        if (pending && !isDeferred()) {
            pending = false;
            ctx.flush();
        }
    }
}
