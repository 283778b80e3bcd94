package dev.isthmus.gateway.ingress;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.ByteToMessageDecoder;
import java.util.List;

/**
 * Detects HTTP/2 with prior knowledge by its preface, which starts with {@code PRI }; anything else is HTTP/1.1. Sets
 * up the pipeline and removes itself.
 */
final class ProtocolDetector extends ByteToMessageDecoder {
    private static final int PRI = 0x50524920;

    private final AcceptedConnection connection;

    ProtocolDetector(AcceptedConnection connection) {
        this.connection = connection;
    }

    @Override
    protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) {
        if (in.readableBytes() < Integer.BYTES) {
            return;
        }
        if (in.getInt(in.readerIndex()) == PRI) {
            connection.http2(ctx.pipeline());
        } else {
            connection.http1(ctx.pipeline());
        }
        ctx.pipeline().remove(this);
    }

    /** A reset before the first byte is not worth a log line above debug. */
    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        ConnectionFailureLog.failed(ctx.channel(), cause);
        ctx.close();
    }
}
