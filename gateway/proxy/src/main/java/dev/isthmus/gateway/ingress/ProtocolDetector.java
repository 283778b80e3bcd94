package dev.isthmus.gateway.ingress;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.ByteToMessageDecoder;
import java.io.IOException;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells HTTP/2 by prior knowledge, whose preface begins with {@code PRI }, from HTTP/1.1, sets the pipeline up for it and
 * goes away.
 */
final class ProtocolDetector extends ByteToMessageDecoder {
    private static final Logger LOG = LoggerFactory.getLogger(ProtocolDetector.class);
    private static final int PRI = 0x50524920;

    private final IngressPipelines pipelines;
    private final ConnectionTimer timer;
    private final BodyReadBuffer landing;

    ProtocolDetector(IngressPipelines pipelines, ConnectionTimer timer, BodyReadBuffer landing) {
        this.pipelines = pipelines;
        this.timer = timer;
        this.landing = landing;
    }

    @Override
    protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) {
        if (in.readableBytes() < Integer.BYTES) {
            return;
        }
        if (in.getInt(in.readerIndex()) == PRI) {
            pipelines.http2(ctx.pipeline(), timer);
        } else {
            pipelines.http1(ctx.pipeline(), timer, landing);
        }
        ctx.pipeline().remove(this);
    }

    /** A client that resets its connection before it has said anything is nothing to tell. */
    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        if (cause instanceof IOException) {
            LOG.debug("connection of a client", cause);
        } else {
            LOG.error("connection of a client", cause);
        }
        ctx.close();
    }
}
