package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.net.StrictRequestDecoder;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Decodes only as fast as the next handler accepts messages: pipelined requests stay undecoded bytes, and reading is
 * paused. Counts progress for timeouts. Belongs to one connection, confined to its event loop.
 */
final class PausingDecoder extends StrictRequestDecoder {
    private final Predicate<ChannelHandlerContext> ready;
    private @Nullable ChannelHandlerContext context;
    private boolean decoding;
    private boolean waiting;
    private long messages;
    private long bytes;
    private boolean partial;

    /** @param ready whether the next handler accepts another message now */
    PausingDecoder(Predicate<ChannelHandlerContext> ready) {
        super(IngressSettings.MAX_REQUEST_LINE, IngressSettings.MAX_HEADER_BYTES, IngressSettings.MAX_HEADER_FIELDS);
        this.ready = ready;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        context = ctx;
    }

    /** Whether undecoded bytes are waiting. */
    boolean isPaused() {
        return waiting;
    }

    /** Number of undecoded bytes. */
    int undecoded() {
        return actualReadableBytes();
    }

    /** Decodes waiting bytes, if the next handler is ready. */
    void resume() {
        ChannelHandlerContext ctx = context;
        if (ctx == null || !waiting || decoding || !ready.test(ctx)) {
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
        waiting = !ready.test(ctx);
        if (waiting) {
            partial = false;
            ctx.channel().config().setAutoRead(false);
            return;
        }
        int before = in.readerIndex();
        int decoded = out.size();
        super.decode(ctx, in, out);
        bytes += in.readerIndex() - before;
        partial = out.size() == decoded;
        if (!partial) {
            messages++;
        }
    }

    /** Whether something, such as a head, was received in part. */
    boolean partial() {
        return partial;
    }

    /** A count of decoded messages: heads and parts of bodies. */
    long messages() {
        return messages;
    }

    /** Number of decoded bytes. */
    long bytes() {
        return bytes;
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) throws Exception {
        if (waiting) {
            // Netty's decoder would read again if nothing was decoded.
            ctx.fireChannelReadComplete();
        } else {
            super.channelReadComplete(ctx);
        }
    }
}
