package dev.isthmus.gateway.ingress;

import io.netty.channel.ChannelHandlerContext;
import java.util.concurrent.TimeUnit;

/**
 * Notices that a client has gone whose next requests wait behind one that is not answered. The end of its connection is
 * behind what it sent, and the socket is not read meanwhile: so every second a little more is read, up to a bound.
 */
final class EndWatch {
    /** Nothing more is read where as many bytes wait. */
    static final int MOST = 256 << 10;

    private static final long MILLIS = 1_000;

    private final PausingDecoder decoder;
    private boolean scheduled;

    EndWatch(PausingDecoder decoder) {
        this.decoder = decoder;
    }

    /** Something was read. */
    void readComplete(ChannelHandlerContext ctx) {
        if (decoder.waits() && !scheduled && decoder.undecoded() < MOST) {
            scheduled = true;
            ctx.executor().schedule(() -> look(ctx), MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    private void look(ChannelHandlerContext ctx) {
        scheduled = false;
        if (ctx.channel().isActive() && decoder.waits()) {
            // Its completion comes back here, where there was anything.
            ctx.read();
        }
    }
}
