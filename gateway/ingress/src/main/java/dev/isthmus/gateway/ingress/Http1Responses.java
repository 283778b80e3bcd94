package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.http1.HeadWriter;
import dev.isthmus.gateway.http1.HeadWriter.ChunkWriter;
import dev.isthmus.gateway.settings.HeaderAllowList;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;

/** Writes responses as messages of HTTP/1.1. */
final class Http1Responses {
    private static final String CONTENT_LENGTH = HttpHeaderNames.CONTENT_LENGTH.toString();
    private static final String TRANSFER_ENCODING = HttpHeaderNames.TRANSFER_ENCODING.toString();
    private static final String CONNECTION = HttpHeaderNames.CONNECTION.toString();
    private static final byte[] OK = statusLine(200);
    private static final ByteBuf CONTINUE = Unpooled.unreleasableBuffer(
            Unpooled.copiedBuffer("HTTP/1.1 100 Continue\r\n\r\n", StandardCharsets.US_ASCII));

    /** What becomes of the connection after a response. */
    enum Persistence {
        KEPT,
        /** It is kept for a client of HTTP/1.0, which would otherwise wait for its end. */
        KEPT_AND_SAID,
        CLOSED;

        static Persistence of(boolean keepAlive, boolean http10) {
            return !keepAlive ? CLOSED : http10 ? KEPT_AND_SAID : KEPT;
        }
    }

    private Http1Responses() {}

    private static byte[] statusLine(int status) {
        return ("HTTP/1.1 " + HttpResponseStatus.valueOf(status) + "\r\n").getBytes(StandardCharsets.US_ASCII);
    }

    /** The interim response that asks for the body. */
    static ByteBuf interim() {
        return CONTINUE.duplicate();
    }

    /**
     * Writes the whole response.
     *
     * @param response its body is taken
     */
    static ChannelFuture write(ChannelHandlerContext ctx, RestResponse response, Persistence persistence) {
        ByteBuf body = response.body();
        boolean copied = HeadWriter.copies(body.readableBytes());
        ByteBuf first;
        try {
            HeadWriter head = head(response, persistence, false);
            if (!hasLength(response)) {
                head.contentLength(body.readableBytes());
            }
            first = copied ? head.end(ctx.alloc(), body) : head.end(ctx.alloc());
        } catch (OutOfMemoryError e) {
            // Out of direct memory: the failed write closes the connection.
            body.release();
            return ctx.newFailedFuture(e);
        } catch (RuntimeException e) {
            body.release();
            throw e;
        }
        if (copied) {
            body.release();
            return ctx.write(first);
        }
        ctx.write(first, ctx.voidPromise());
        return ctx.write(body);
    }

    /** Writes the head of a response whose body follows. */
    static void begin(ChannelHandlerContext ctx, RestResponse response, Persistence persistence, boolean chunked) {
        try {
            ctx.write(head(response, persistence, chunked).end(ctx.alloc()), ctx.voidPromise());
        } catch (OutOfMemoryError e) {
            ctx.pipeline().fireExceptionCaught(e);
        }
    }

    /**
     * Writes and flushes a part of the body.
     *
     * @param part taken
     */
    static void part(ChannelHandlerContext ctx, ByteBuf part, boolean chunked) {
        if (!chunked) {
            ctx.writeAndFlush(part, ctx.voidPromise());
            return;
        }
        try {
            ChunkWriter.chunk(ctx.alloc(), part, each -> ctx.write(each, ctx.voidPromise()));
            ctx.flush();
        } catch (OutOfMemoryError e) {
            ctx.pipeline().fireExceptionCaught(e);
        }
    }

    static boolean hasLength(RestResponse response) {
        return response.headers().containsKey(CONTENT_LENGTH);
    }

    private static HeadWriter head(RestResponse response, Persistence persistence, boolean chunked) {
        HeadWriter head = HeadWriter.of(response.status() == 200 ? OK : statusLine(response.status()));
        if (chunked) {
            head.chunked();
        }
        response.headers().forEach((name, value) -> {
            if (!isOfConnection(name)) {
                head.field(name, value);
            }
        });
        AsciiString id = response.id();
        if (id != null) {
            head.field(HeaderAllowList.REQUEST_ID, id);
        }
        return switch (persistence) {
            case KEPT -> head;
            case KEPT_AND_SAID -> head.keepAlive();
            case CLOSED -> head.close();
        };
    }

    /** What only this connection's own state decides. */
    private static boolean isOfConnection(String name) {
        return name.equals(CONNECTION) || name.equals(TRANSFER_ENCODING);
    }

    /**
     * Flushes the responses of an HTTP/1.1 connection: those of pipelined requests that are answered at once together, when
     * the read or the turn in which they were handled is complete, and any other response at once.
     */
    static final class ResponseFlush {
        /** Nested sections in which flushes are deferred. */
        private int deferring;

        private boolean reading;
        private boolean pending;

        /** Messages are decoded: outside of a turn they were read from the socket, and {@link #readComplete} follows. */
        void reads() {
            reading |= deferring == 0;
        }

        void readComplete(ChannelHandlerContext ctx) {
            reading = false;
            flushIfComplete(ctx);
        }

        /** Messages are handled until {@link #end}. */
        void begin() {
            deferring++;
        }

        void end(ChannelHandlerContext ctx) {
            deferring--;
            flushIfComplete(ctx);
        }

        /** A response was written. */
        void flush(ChannelHandlerContext ctx) {
            pending = true;
            flushIfComplete(ctx);
        }

        /** Whether a response that is written now is flushed together with others. */
        boolean isDeferred() {
            return reading || deferring > 0;
        }

        /** Bytes of the connection that were written and not sent. */
        static long pendingBytes(ChannelHandlerContext ctx) {
            ChannelOutboundBuffer waiting = ctx.channel().unsafe().outboundBuffer();
            return waiting == null ? 0 : waiting.totalPendingWriteBytes();
        }

        private void flushIfComplete(ChannelHandlerContext ctx) {
            if (pending && !isDeferred()) {
                pending = false;
                ctx.flush();
            }
        }
    }
}
