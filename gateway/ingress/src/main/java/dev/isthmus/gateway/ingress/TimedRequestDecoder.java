package dev.isthmus.gateway.ingress;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import java.util.List;
import java.util.function.Predicate;

/** Decodes requests and reports progress for timeouts. */
final class TimedRequestDecoder extends PausingDecoder {
    private long messages;
    private long bytes;
    private boolean partial;

    /** @param ready whether the next handler accepts another message now */
    TimedRequestDecoder(Predicate<ChannelHandlerContext> ready) {
        super(ready);
    }

    @Override
    protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) throws Exception {
        int before = in.readerIndex();
        int decoded = out.size();
        super.decode(ctx, in, out);
        bytes += in.readerIndex() - before;
        boolean progressed = out.size() > decoded;
        partial = !progressed && !isPaused();
        if (progressed) {
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
}
