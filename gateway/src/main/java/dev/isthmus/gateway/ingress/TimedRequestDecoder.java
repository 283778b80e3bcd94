package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.net.StrictRequestDecoder;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import java.util.List;

/** Reads requests, and knows how far it is. */
final class TimedRequestDecoder extends StrictRequestDecoder {
    private long messages;
    private long bytes;
    private boolean partial;

    TimedRequestDecoder() {
        super(IngressSettings.MAX_REQUEST_LINE, IngressSettings.MAX_HEADER_BYTES);
    }

    @Override
    protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) throws Exception {
        int before = in.readerIndex();
        int decoded = out.size();
        super.decode(ctx, in, out);
        bytes += in.readerIndex() - before;
        partial = out.size() == decoded;
        if (!partial) {
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
