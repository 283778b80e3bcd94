package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.http1.HeadLimits;
import dev.isthmus.gateway.http1.Http1Parser;
import dev.isthmus.gateway.http1.Http1Request;
import dev.isthmus.gateway.http1.RequestParser;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import java.util.concurrent.TimeUnit;

/**
 * What was received on an HTTP/1.1 connection: read only as fast as requests are handled, so that pipelined ones stay
 * unparsed bytes. Counts progress for timeouts. Belongs to one connection, confined to its event loop.
 */
final class RequestReader {
    static final HeadLimits LIMITS = new HeadLimits(
            "request line",
            IngressSettings.MAX_REQUEST_LINE,
            IngressSettings.MAX_HEADER_BYTES,
            IngressSettings.MAX_HEADER_FIELDS);

    private static final int MAX_PART = 64 * 1024;
    /** The largest read of a socket, in bytes. */
    static final int MAX_READ = 128 * 1024;
    /** Reading stops when this many bytes wait. */
    private static final int MAX_WAITING = 256 << 10;
    /** Between reads while bytes wait. */
    private static final long INTERVAL_MILLIS = 1_000;

    private final RequestParser parser = new RequestParser(LIMITS, MAX_PART);
    private ByteBuf received = Unpooled.EMPTY_BUFFER;
    private boolean paused;
    private boolean scheduled;
    private long messages;
    private long bytes;

    /** @param read taken */
    void add(ByteBuf read, ByteBufAllocator allocator) {
        if (received.isReadable()) {
            received = BodyReadBuffer.cumulate(allocator, received, read);
        } else {
            release();
            received = read;
        }
    }

    /** Discards the bytes (taken), which are none of a request that is served. */
    void discard(ByteBuf read) {
        bytes += read.readableBytes();
        read.release();
    }

    /**
     * Reads on.
     *
     * @throws dev.isthmus.oip.OipException if the request is malformed
     */
    Http1Parser.ParserEvent next() {
        ByteBuf in = received;
        int before = in.readerIndex();
        try {
            Http1Parser.ParserEvent event = parser.next(in);
            if (event != Http1Parser.ParserEvent.MORE) {
                messages++;
            }
            return event;
        } finally {
            bytes += in.readerIndex() - before;
        }
    }

    /** The head that was read last. */
    Http1Request request() {
        return parser.request();
    }

    /** The part of a body that was read last; the caller becomes its owner. */
    ByteBuf content() {
        return parser.content();
    }

    /** Whether a request has ended with what was read last. */
    boolean ended() {
        return parser.ended();
    }

    /**
     * Nothing more is read for now.
     *
     * @param wanted whether more can be handled
     */
    void pause(boolean wanted) {
        paused = !wanted && received.isReadable();
        if (!received.isReadable()) {
            release();
        }
    }

    /** Releases what was not read. */
    void release() {
        ByteBuf unread = received;
        received = Unpooled.EMPTY_BUFFER;
        unread.release();
    }

    /** Whether bytes wait to be read. */
    boolean isPaused() {
        return paused;
    }

    /** Number of bytes that were not read. */
    int unread() {
        return received.readableBytes();
    }

    /**
     * Has a little more read every second while bytes wait, to detect that the client has disconnected: the end of the
     * connection comes after the bytes already sent, and nothing else is read meanwhile.
     */
    void readComplete(ChannelHandlerContext ctx) {
        if (paused && !scheduled && unread() < MAX_WAITING) {
            scheduled = true;
            ctx.executor().schedule(() -> readMore(ctx), INTERVAL_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    private void readMore(ChannelHandlerContext ctx) {
        scheduled = false;
        if (paused && ctx.channel().isActive()) {
            // Its completion calls readComplete again if there was anything.
            ctx.read();
        }
    }

    /** Whether a head was received in part. */
    boolean partial() {
        return parser.begun() && !paused;
    }

    /** A count of what was read: heads and parts of bodies. */
    long messages() {
        return messages;
    }

    /** Number of bytes read. */
    long bytes() {
        return bytes;
    }

    /**
     * What the connection holds of requests, in bytes: their heads until their bodies have ended, and what was received
     * and not read, with the rest of its buffer.
     */
    long held() {
        return parser.held() + (received.isReadable() ? Math.min(received.capacity(), MAX_READ) : 0);
    }
}
