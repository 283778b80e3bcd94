package dev.isthmus.gateway.ingress;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import java.util.List;
import java.util.function.Predicate;

/** Reads requests, and knows how far it is. */
final class TimedRequestDecoder extends PausingDecoder {
    private long messages;
    private long bytes;
    private boolean partial;

    /** @param takesMore whether the handler behind takes another message now */
    TimedRequestDecoder(Predicate<ChannelHandlerContext> takesMore) {
        super(takesMore);
    }

    @Override
    protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) throws Exception {
        int before = in.readerIndex();
        int decoded = out.size();
        super.decode(ctx, in, out);
        bytes += in.readerIndex() - before;
        boolean any = out.size() > decoded;
        partial = !any && !waits();
        if (any) {
            messages++;
        }
    }

    /** Whether a part of something has come, such as of a head, and not all of it. */
    boolean partial() {
        return partial;
    }

    /** Changes with each head and each part of a body. */
    long messages() {
        return messages;
    }

    /** Bytes of all that is complete. */
    long bytes() {
        return bytes;
    }
}
