package dev.isthmus.gateway.net;

import io.netty.channel.ChannelConfig;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Handler of a listening channel: if connections cannot be accepted, because the process has too many open files or the
 * system has no memory, it logs that and waits a second, so that the event loop does not try again and again.
 */
public class AcceptFailures extends ChannelInboundHandlerAdapter {
    private static final Logger LOG = LoggerFactory.getLogger(AcceptFailures.class);
    private static final long PAUSE_MILLIS = 1000;

    @Override
    public final void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        RepeatingLogEvent.warn(LOG)
                .addKeyValue("listener", ctx.channel().localAddress())
                .log(
                        "no connection can be accepted at {}, which is tried again in a second: {}; if files are missing,"
                                + " raise their limit (ulimit -n, LimitNOFILE)",
                        ctx.channel().localAddress(),
                        FailureReason.of(cause));
        ChannelConfig config = ctx.channel().config();
        if (config.isAutoRead()) {
            config.setAutoRead(false);
            ctx.channel().eventLoop().schedule(() -> config.setAutoRead(true), PAUSE_MILLIS, TimeUnit.MILLISECONDS);
        }
    }
}
