package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2CodecUtil;

/**
 * Writes frames. Frame headers, header blocks and small payloads are collected in one buffer; large payloads are
 * written between them as slices, without a copy. Nothing is sent before {@link #flush}.
 */
final class FrameWriter {
    /** Payloads up to this many bytes are copied: that costs less than a separate write. */
    static final int SMALL = 1024;

    /** A buffer of more pieces than this would be copied whole by the transport. */
    private static final int MAX_PIECES = 512;

    private static final int CHUNK = 4096;

    private final ChannelHandlerContext ctx;
    private final HeaderEncoder encoder = new HeaderEncoder();

    /** Bytes before its reader index were already written to the channel as slices. */
    private ByteBuf out = Unpooled.EMPTY_BUFFER;

    FrameWriter(ChannelHandlerContext ctx) {
        this.ctx = ctx;
    }

    HeaderEncoder encoder() {
        return encoder;
    }

    void preface() {
        ByteBuf preface = Http2CodecUtil.connectionPrefaceBuf();
        writable(preface.readableBytes()).writeBytes(preface);
    }

    /** Our settings, as identifier and value pairs. */
    void settings(int... pairs) {
        ByteBuf buffer = frame(pairs.length * 3, FrameType.SETTINGS, 0, 0);
        for (int i = 0; i < pairs.length; i += 2) {
            buffer.writeShort(pairs[i]).writeInt(pairs[i + 1]);
        }
    }

    void settingsAck() {
        frame(0, FrameType.SETTINGS, FrameType.ACK, 0);
    }

    void ping(boolean ack, long payload) {
        frame(8, FrameType.PING, ack ? FrameType.ACK : 0, 0).writeLong(payload);
    }

    void goAway(int lastStreamId, long errorCode) {
        frame(8, FrameType.GOAWAY, 0, 0).writeInt(lastStreamId).writeInt((int) errorCode);
    }

    void reset(int streamId, long errorCode) {
        frame(4, FrameType.RST_STREAM, 0, streamId).writeInt((int) errorCode);
    }

    void windowUpdate(int streamId, int increment) {
        frame(4, FrameType.WINDOW_UPDATE, 0, streamId).writeInt(increment);
    }

    /** A block that exceeds one frame of the size that every peer accepts is continued in CONTINUATION frames. */
    void headers(int streamId, HeaderFieldList fields, boolean end) {
        int length = encoder.encode(fields);
        int type = FrameType.HEADERS;
        int flags = end ? FrameType.END_STREAM : 0;
        int from = 0;
        do {
            int part = Math.min(length - from, Http2Options.DEFAULT_FRAME_SIZE);
            int last = from + part == length ? FrameType.END_HEADERS : 0;
            frame(part, type, flags | last, streamId).writeBytes(encoder.block(), from, part);
            from += part;
            type = FrameType.CONTINUATION;
            flags = 0;
        } while (from < length);
        encoder.clear();
    }

    /** The header of a DATA frame; its payload must follow. */
    void dataHead(int streamId, int length, boolean end) {
        head(writable(FrameType.HEAD), length, FrameType.DATA, end ? FrameType.END_STREAM : 0, streamId);
    }

    /**
     * A part of a DATA frame's payload: the next bytes of {@code data}.
     *
     * @param data borrowed; read
     */
    void payload(ByteBuf data, int length) {
        if (length <= SMALL) {
            // A copy into the shared buffer costs less than a separate write.
            data.readBytes(writable(length), length);
        } else if (data instanceof CompositeByteBuf composite) {
            components(composite, length);
        } else if (data.nioBufferCount() <= MAX_PIECES) {
            writePayload(data.readRetainedSlice(length));
        } else {
            // A slice of a composite counts as all its components: the transport would copy it whole. Copy in chunks.
            copied(data, length);
        }
    }

    private void components(CompositeByteBuf data, int length) {
        int at = data.readerIndex();
        int end = at + length;
        for (int i = data.toComponentIndex(at); at < end; i++) {
            ByteBuf component = data.internalComponent(i);
            int offset = at - data.toByteIndex(i);
            int part = Math.min(end - at, component.readableBytes() - offset);
            if (part > SMALL && component.nioBufferCount() <= MAX_PIECES) {
                writePayload(component.retainedSlice(component.readerIndex() + offset, part));
            } else {
                copied(data.readerIndex(at), part);
            }
            at += part;
        }
        data.readerIndex(end);
    }

    private void copied(ByteBuf data, int length) {
        for (int rest = length; rest > 0; ) {
            int part = Math.min(rest, CHUNK);
            data.readBytes(writable(part), part);
            rest -= part;
        }
    }

    /** Flushes everything to the socket. */
    void flush() {
        writeOut();
        ctx.flush();
    }

    /** Flushes everything to the socket; the future completes with the last byte. */
    ChannelFuture flushLast() {
        ByteBuf last = out;
        out = Unpooled.EMPTY_BUFFER;
        return ctx.writeAndFlush(last);
    }

    void release() {
        out.release();
        out = Unpooled.EMPTY_BUFFER;
    }

    private void writeOut() {
        ByteBuf full = out;
        out = Unpooled.EMPTY_BUFFER;
        if (full.isReadable()) {
            ctx.write(full, ctx.voidPromise());
        } else {
            full.release();
        }
    }

    private void writePayload(ByteBuf payload) {
        if (out.isReadable()) {
            ctx.write(out.readRetainedSlice(out.readableBytes()), ctx.voidPromise());
        }
        ctx.write(payload, ctx.voidPromise());
    }

    private ByteBuf frame(int length, int type, int flags, int streamId) {
        ByteBuf buffer = writable(FrameType.HEAD + length);
        head(buffer, length, type, flags, streamId);
        return buffer;
    }

    private static void head(ByteBuf buffer, int length, int type, int flags, int streamId) {
        buffer.writeLong((long) length << 40 | (long) type << 32 | (long) flags << 24 | streamId >>> 8);
        buffer.writeByte(streamId);
    }

    /** A buffer with this many writable bytes. It never grows, since slices of it may be in flight. */
    private ByteBuf writable(int bytes) {
        if (out.writableBytes() < bytes) {
            writeOut();
            out = allocated(Math.max(CHUNK, bytes));
        }
        return out;
    }

    /**
     * Falls back to the heap if direct memory is exhausted: an exception between two frames would leave a stream
     * without an end. The transport copies heap buffers when it writes them; if direct memory is still exhausted then,
     * the connection fails.
     */
    private ByteBuf allocated(int bytes) {
        try {
            return ctx.alloc().ioBuffer(bytes);
        } catch (OutOfMemoryError exhausted) {
            return Unpooled.buffer(bytes);
        }
    }
}
