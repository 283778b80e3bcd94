package dev.isthmus.gateway.ingress;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;

/** Writes one stream's response frames; the responses of one turn of the loop share a flush. */
final class Http2Responder {
    private final ChannelHandlerContext ctx;
    private final Http2Ingress handler;
    private final int streamId;

    Http2Responder(ChannelHandlerContext ctx, Http2Ingress handler, int streamId) {
        this.ctx = ctx;
        this.handler = handler;
        this.streamId = streamId;
    }

    void headers(Http2Headers headers, boolean end) {
        handler.encoder().writeHeaders(ctx, streamId, headers, 0, end, promise(end));
        handler.flushSoon(ctx);
    }

    /** @param data taken */
    void data(ByteBuf data, boolean end) {
        handler.encoder().writeData(ctx, streamId, data, 0, end, promise(end));
        handler.flushSoon(ctx);
    }

    /** Whether what is written goes out at once. */
    boolean writable() {
        Http2Stream stream = handler.connection().stream(streamId);
        return stream == null || handler.connection().remote().flowController().isWritable(stream);
    }

    /** Lets the client send as many bytes more as were taken of it. */
    void consumed(int bytes) {
        Http2Stream stream = handler.connection().stream(streamId);
        if (stream != null && bytes > 0) {
            try {
                if (handler.decoder().flowController().consumeBytes(stream, bytes)) {
                    handler.flushSoon(ctx);
                }
            } catch (Http2Exception e) {
                handler.onError(ctx, true, e);
            }
        }
    }

    private ChannelPromise promise(boolean end) {
        ChannelPromise promise = ctx.newPromise();
        if (end) {
            promise.addListener(written -> stopRequest());
        }
        return promise;
    }

    /** The rest of a request whose response is written is not needed (RFC 9113, 8.1). */
    private void stopRequest() {
        Http2ConnectionEncoder encoder = handler.encoder();
        Http2Stream stream = encoder.connection().stream(streamId);
        if (stream != null && stream.state().remoteSideOpen()) {
            encoder.writeRstStream(ctx, streamId, Http2Error.NO_ERROR.code(), ctx.newPromise());
            handler.flushSoon(ctx);
        }
    }
}
