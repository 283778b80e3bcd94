package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.net.StrictRequestDecoder;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Decodes no further than the handler behind it takes: what is pipelined stays the bytes that were read, and no more is read.
 * Of one connection, used on its loop.
 */
class PausingDecoder extends StrictRequestDecoder {
    private final Predicate<ChannelHandlerContext> takesMore;
    private @Nullable ChannelHandlerContext context;
    private boolean decoding;
    private boolean waits;

    /** @param takesMore whether the handler behind takes another message now */
    PausingDecoder(Predicate<ChannelHandlerContext> takesMore) {
        super(IngressSettings.MAX_REQUEST_LINE, IngressSettings.MAX_HEADER_BYTES);
        this.takesMore = takesMore;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        context = ctx;
    }

    /** Whether bytes that were read wait to be taken. */
    boolean waits() {
        return waits;
    }

    /** Bytes that were read and wait. */
    int undecoded() {
        return actualReadableBytes();
    }

    /** Decodes what waits, as far as it is taken now. */
    void resume() {
        ChannelHandlerContext ctx = context;
        if (ctx == null || !waits || decoding || !takesMore.test(ctx)) {
            return;
        }
        try {
            channelRead(ctx, Unpooled.EMPTY_BUFFER);
        } catch (Exception e) {
            ctx.fireExceptionCaught(e);
        }
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object input) throws Exception {
        decoding = true;
        try {
            super.channelRead(ctx, input);
        } finally {
            decoding = false;
        }
    }

    @Override
    protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) throws Exception {
        waits = !takesMore.test(ctx);
        if (waits) {
            ctx.channel().config().setAutoRead(false);
        } else {
            super.decode(ctx, in, out);
        }
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) throws Exception {
        if (waits) {
            // Netty's decoder would read on where nothing came of what was read.
            ctx.fireChannelReadComplete();
        } else {
            super.channelReadComplete(ctx);
        }
    }
}
