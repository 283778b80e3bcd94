package dev.isthmus.gateway.coding;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;
import org.jspecify.annotations.Nullable;

/**
 * Streaming decoder of one gzip or deflate content (RFC 1950 to 1952). Limits are checked while decoding, so a small
 * body cannot expand beyond them. Trailing bytes are rejected. gzip content may have several members; deflate is
 * accepted with and without a zlib header.
 */
public final class ContentInflater {
    private static final int PART = 64 * 1024;
    /**
     * Memory of a decoder in bytes, without its output: zlib's window and tables, and the output buffer being filled.
     */
    public static final int HELD = PART + 48 * 1024;

    private static final int TRAILER = 2 * Integer.BYTES;
    private static final int ZLIB_METHOD = 8;

    private enum InflaterState {
        /** The gzip header, or the two bytes that show whether there is a zlib header. */
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
    /** Received bytes of the two-byte header or of the trailer, little-endian. */
    private long number;

    private int octets;
    /** Compressed bytes that were decoded. */
    private long compressed;

    private long decoded;
    private boolean any;
    /** Whether the output buffer was filled, so that zlib may have more output. */
    private boolean full;

    /** Added and not yet decoded. */
    private final Deque<ByteBuf> parts = new ArrayDeque<>(1);

    private int waiting;

    ContentInflater(boolean gzip, ByteBufAllocator allocator, InflationLimits limits) {
        this.gzip = gzip;
        this.allocator = allocator;
        this.limits = limits;
    }

    /**
     * Adds the next part, for {@link #decode}.
     *
     * @param part taken
     */
    public void add(ByteBuf part) {
        waiting += part.readableBytes();
        parts.add(part);
    }

    /**
     * Decodes the added parts.
     *
     * @param more checked before each step, which decodes at most 64 KiB; if false, the rest stays pending
     * @param out receives and owns decoded buffers; it may release this decoder
     * @throws OipException for malformed or too large content; then only {@link #release()} may be called
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

    /** Whether everything added was decoded. */
    public boolean done() {
        return parts.isEmpty() && !full;
    }

    /** Bytes added and not yet decoded. */
    public int waiting() {
        return waiting;
    }

    private void step(ByteBuf in, Consumer<ByteBuf> out) throws DataFormatException {
        any = true;
        switch (state) {
            case HEADER -> header(octet(in), out);
            case CONTENT -> content(in, out);
            case TRAILER -> trailer(octet(in));
            case END -> throw new DataFormatException("unexpected bytes after the content");
        }
    }

    private byte octet(ByteBuf in) {
        waiting--;
        compressed++;
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
        number |= (octet & 0xffL) << (8 * octets++);
        if (octets == Short.BYTES) {
            int first = (int) number & 0xff;
            int second = (int) number >> 8;
            boolean zlib = (first & 0xf) == ZLIB_METHOD && (first << 8 | second) % 31 == 0;
            begin(!zlib);
            emit(inflate(ByteBuffer.wrap(new byte[] {(byte) first, (byte) second})), out);
        }
    }

    private void begin(boolean raw) {
        if (inflater == null) {
            inflater = new Inflater(raw);
        }
        state = InflaterState.CONTENT;
        crc.reset();
        number = 0;
        octets = 0;
    }

    private void content(ByteBuf in, Consumer<ByteBuf> out) throws DataFormatException {
        ByteBuffer piece = first(in);
        int before = piece.remaining();
        int length = inflate(piece);
        int used = before - piece.remaining();
        if (used == 0 && length == 0 && state == InflaterState.CONTENT && in.isReadable()) {
            throw new DataFormatException("no progress: corrupt deflate data");
        }
        in.skipBytes(used);
        waiting -= used;
        compressed += used;
        limits.check(compressed, decoded);
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

    /** Inflates into {@link #space()} and returns the number of bytes. */
    private int inflate(ByteBuffer in) throws DataFormatException {
        Inflater using = Objects.requireNonNull(inflater);
        ByteBuf to = space();
        int space = to.writableBytes();
        using.setInput(in);
        int length = using.inflate(to.nioBuffer(to.writerIndex(), space));
        full = length == space && !using.finished();
        if (using.needsDictionary()) {
            throw new DataFormatException("preset dictionaries are not supported");
        }
        decoded += length;
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

    /** The output buffer. Shared by successive parts, so that small parts do not need a buffer each. */
    private ByteBuf space() {
        ByteBuf to = open;
        if (to == null || !to.isWritable()) {
            if (to != null) {
                open = null;
                to.release();
            }
            to = allocator.buffer(PART, PART);
            open = to;
        }
        return to;
    }

    private void trailer(byte octet) throws DataFormatException {
        number |= (octet & 0xffL) << (8 * octets++);
        if (octets < TRAILER) {
            return;
        }
        Inflater used = Objects.requireNonNull(inflater);
        if (number != (crc.getValue() | (used.getBytesWritten() & 0xffffffffL) << 32)) {
            throw new DataFormatException("checksum or length mismatch");
        }
        used.reset();
        header = new GzipHeader();
        state = InflaterState.HEADER;
    }

    /**
     * Checks that the content is complete. Content of zero bytes is valid and empty.
     *
     * @throws OipException if its end is missing
     */
    public void finish() {
        boolean ended = gzip ? state == InflaterState.HEADER && header.empty() : state == InflaterState.END;
        if (any && !ended) {
            throw OipException.invalid("malformed compressed content: its end is missing");
        }
    }

    /** Releases all buffers and the inflater; may be called more than once. */
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

    /** Parses the header of a gzip member byte by byte (RFC 1952, 2.3). */
    private static final class GzipHeader {
        private static final int[] MAGIC = {0x1f, 0x8b, 8};
        private static final int FLAGS_AT = 3;
        private static final int FIXED_BYTES = 10;
        private static final int HAS_CRC = 1 << 1;
        private static final int HAS_EXTRA = 1 << 2;
        private static final int HAS_NAME = 1 << 3;
        private static final int HAS_COMMENT = 1 << 4;
        private static final int RESERVED = 0xe0;

        private enum HeaderPart {
            FIXED,
            EXTRA_LENGTH,
            EXTRA,
            NAME,
            COMMENT,
            CRC,
            END
        }

        private final CRC32 crc = new CRC32();
        private final Iterator<HeaderPart> parts = List.of(HeaderPart.values()).iterator();
        private HeaderPart part = parts.next();
        /** Bytes read of the current part. */
        private int count;

        private int flags;
        private int number;

        /** Whether no byte was read. */
        boolean empty() {
            return part == HeaderPart.FIXED && count == 0;
        }

        boolean complete() {
            return part == HeaderPart.END;
        }

        /** @throws DataFormatException if this is not a gzip header */
        void take(byte octet) throws DataFormatException {
            int value = octet & 0xff;
            if (part == HeaderPart.CRC) {
                number |= value << (8 * count++);
                if (count == Short.BYTES) {
                    require(number == (crc.getValue() & 0xffff), "header checksum");
                    part = parts.next();
                }
                return;
            }
            crc.update(value);
            boolean ended = switch (part) {
                case FIXED -> fixed(value);
                case EXTRA_LENGTH -> {
                    number |= value << (8 * count++);
                    yield count == Short.BYTES;
                }
                case EXTRA -> --number == 0;
                case NAME, COMMENT -> value == 0;
                case CRC, END -> throw new IllegalStateException("the header is complete");
            };
            if (ended) {
                next();
            }
        }

        private boolean fixed(int value) throws DataFormatException {
            if (count < MAGIC.length) {
                require(value == MAGIC[count], "magic bytes");
            } else if (count == FLAGS_AT) {
                flags = value;
                require((flags & RESERVED) == 0, "flags");
            }
            count++;
            return count == FIXED_BYTES;
        }

        /** Advances to the next part that the flags announce. */
        private void next() {
            do {
                part = parts.next();
            } while (!announced());
            count = 0;
            if (part != HeaderPart.EXTRA) {
                number = 0;
            }
        }

        private boolean announced() {
            return switch (part) {
                case EXTRA_LENGTH -> (flags & HAS_EXTRA) != 0;
                case EXTRA -> number > 0;
                case NAME -> (flags & HAS_NAME) != 0;
                case COMMENT -> (flags & HAS_COMMENT) != 0;
                case CRC -> (flags & HAS_CRC) != 0;
                case FIXED, END -> true;
            };
        }

        private static void require(boolean valid, String what) throws DataFormatException {
            if (!valid) {
                throw new DataFormatException("invalid gzip " + what);
            }
        }
    }
}
