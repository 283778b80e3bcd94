package dev.isthmus.gateway.coding;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;
import org.jspecify.annotations.Nullable;

/**
 * Decodes one gzip or deflate content as it comes (RFC 1950 to 1952). It is counted as it is decoded, so that a small body
 * never becomes more than is allowed, and what does not belong to it is refused. A gzip content may have several members;
 * deflate is taken with zlib's frame and without.
 */
public final class ContentInflater {
    private static final int PART = 64 * 1024;
    /** What decoding takes beside what is decoded, in bytes: zlib's window and tables, and the part that is being filled. */
    public static final int HELD = PART + 48 * 1024;

    private static final int TRAILER = 2 * Integer.BYTES;
    private static final int ZLIB_METHOD = 8;

    private enum InflaterState {
        /** Of gzip, or the two bytes that tell zlib's frame from none. */
        HEADER,
        CONTENT,
        TRAILER,
        END
    }

    private final boolean gzip;
    private final ByteBufAllocator allocator;
    private final InflationLimits limits;
    private final CRC32 crc = new CRC32();
    private GzipHeader header = new GzipHeader();
    private @Nullable Inflater inflater;
    private @Nullable ByteBuf open;
    private InflaterState state = InflaterState.HEADER;
    /** What has come of the two bytes or of the trailer, the first byte lowest. */
    private long number;

    private int taken;
    private long compressed;
    private long decoded;
    private boolean any;
    /** Whether there may be more of what was decoded than there was room for. */
    private boolean full;

    /** What has been added and is not decoded. */
    private final Deque<ByteBuf> parts = new ArrayDeque<>(1);

    private int waiting;

    ContentInflater(boolean gzip, ByteBufAllocator allocator, InflationLimits limits) {
        this.gzip = gzip;
        this.allocator = allocator;
        this.limits = limits;
    }

    /**
     * Decodes the next part, and what was left over before it.
     *
     * @param part taken
     * @param out gets what is decoded, and owns it; it may release this
     * @throws OipException for malformed or too large content, after which only {@link #release()} may be called
     */
    public void add(ByteBuf part, Consumer<ByteBuf> out) {
        add(part);
        decode(() -> true, out);
    }

    /**
     * The next part, which {@link #decode} decodes.
     *
     * @param part taken
     */
    public void add(ByteBuf part) {
        compressed += part.readableBytes();
        waiting += part.readableBytes();
        parts.add(part);
    }

    /**
     * Decodes what was added.
     *
     * @param more asked before each step, which gives at most 64 KiB: where it says no, the rest is left over
     * @param out gets what is decoded, and owns it; it may release this
     * @throws OipException for malformed or too large content, after which only {@link #release()} may be called
     */
    public void decode(BooleanSupplier more, Consumer<ByteBuf> out) {
        try {
            for (ByteBuf part = parts.peek(); part != null || full; part = parts.peek()) {
                if (part != null && !part.isReadable() && !full) {
                    parts.remove().release();
                } else if (more.getAsBoolean()) {
                    step(part == null ? Unpooled.EMPTY_BUFFER : part, out);
                } else {
                    return;
                }
            }
        } catch (DataFormatException e) {
            throw new OipException(ErrorCode.INVALID_ARGUMENT, "malformed compressed content", e);
        }
    }

    /** Whether nothing that was added is left over. */
    public boolean done() {
        return parts.isEmpty() && !full;
    }

    /** Bytes that were added and not decoded. */
    public int waiting() {
        return waiting;
    }

    private void step(ByteBuf in, Consumer<ByteBuf> out) throws DataFormatException {
        any = true;
        switch (state) {
            case HEADER -> header(octet(in), out);
            case CONTENT -> content(in, out);
            case TRAILER -> trailer(octet(in));
            case END -> throw new DataFormatException("more than the content");
        }
    }

    private byte octet(ByteBuf in) {
        waiting--;
        return in.readByte();
    }

    private void header(byte octet, Consumer<ByteBuf> out) throws DataFormatException {
        if (gzip) {
            header.take(octet);
            if (header.complete()) {
                begin(true);
            }
            return;
        }
        number |= (octet & 0xffL) << (8 * taken++);
        if (taken == Short.BYTES) {
            int first = (int) number & 0xff;
            int second = (int) number >> 8;
            boolean zlib = (first & 0xf) == ZLIB_METHOD && (first << 8 | second) % 31 == 0;
            begin(!zlib);
            emit(inflate(ByteBuffer.wrap(new byte[] {(byte) first, (byte) second})), out);
        }
    }

    private void begin(boolean bare) {
        if (inflater == null) {
            inflater = new Inflater(bare);
        }
        state = InflaterState.CONTENT;
        crc.reset();
        number = 0;
        taken = 0;
    }

    private void content(ByteBuf in, Consumer<ByteBuf> out) throws DataFormatException {
        ByteBuffer piece = first(in);
        int before = piece.remaining();
        int length = inflate(piece);
        int used = before - piece.remaining();
        if (used == 0 && length == 0 && state == InflaterState.CONTENT && in.isReadable()) {
            throw new DataFormatException("content that does not go on");
        }
        in.skipBytes(used);
        waiting -= used;
        emit(length, out);
    }

    private static ByteBuffer first(ByteBuf in) {
        if (in.nioBufferCount() > 1) {
            for (ByteBuffer piece : in.nioBuffers()) {
                if (piece.hasRemaining()) {
                    return piece;
                }
            }
        }
        return in.nioBuffer();
    }

    /** Inflates into {@link #space()}, and returns how many bytes. */
    private int inflate(ByteBuffer in) throws DataFormatException {
        Inflater using = inflater;
        if (using == null) {
            throw new IllegalStateException("there is content before it begins");
        }
        ByteBuf to = space();
        int room = to.writableBytes();
        using.setInput(in);
        int length = using.inflate(to.nioBuffer(to.writerIndex(), room));
        full = length == room && !using.finished();
        if (using.needsDictionary()) {
            throw new DataFormatException("a dictionary that nobody has");
        }
        decoded += length;
        limits.check(compressed, decoded);
        crc.update(to.nioBuffer(to.writerIndex(), length));
        if (using.finished()) {
            state = gzip ? InflaterState.TRAILER : InflaterState.END;
        }
        return length;
    }

    private void emit(int length, Consumer<ByteBuf> out) {
        if (length > 0) {
            ByteBuf to = space();
            int start = to.writerIndex();
            to.writerIndex(start + length);
            out.accept(to.retainedSlice(start, length));
        }
    }

    /** Shared by what is decoded, so that tiny parts do not cost a buffer each. */
    private ByteBuf space() {
        ByteBuf to = open;
        if (to == null || !to.isWritable()) {
            if (to != null) {
                to.release();
            }
            to = allocator.buffer(PART, PART);
            open = to;
        }
        return to;
    }

    private void trailer(byte octet) throws DataFormatException {
        number |= (octet & 0xffL) << (8 * taken++);
        if (taken < TRAILER) {
            return;
        }
        Inflater used = inflater;
        if (used == null || number != (crc.getValue() | (used.getBytesWritten() & 0xffffffffL) << 32)) {
            throw new DataFormatException("the checksum or the length is not the content's");
        }
        used.reset();
        header = new GzipHeader();
        state = InflaterState.HEADER;
    }

    /**
     * The content is complete. Content of no bytes at all stands for nothing.
     *
     * @throws OipException where its end is missing
     */
    public void finish() {
        boolean ended = gzip ? state == InflaterState.HEADER && header.empty() : state == InflaterState.END;
        if (any && !ended) {
            throw OipException.invalid("malformed compressed content: its end is missing");
        }
    }

    /** Gives back what is held; may be called more than once. */
    public void release() {
        parts.forEach(ByteBuf::release);
        parts.clear();
        full = false;
        waiting = 0;
        if (inflater != null) {
            inflater.end();
            inflater = null;
        }
        if (open != null) {
            open.release();
            open = null;
        }
    }
}
