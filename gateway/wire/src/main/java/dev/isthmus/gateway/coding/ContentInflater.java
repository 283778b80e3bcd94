package dev.isthmus.gateway.coding;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.nio.ByteBuffer;
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
    private boolean released;

    ContentInflater(boolean gzip, ByteBufAllocator allocator, InflationLimits limits) {
        this.gzip = gzip;
        this.allocator = allocator;
        this.limits = limits;
    }

    /**
     * Decodes the next part.
     *
     * @param part taken
     * @param out gets what is decoded, and owns it; it may release this
     * @throws OipException for malformed or too large content, after which only {@link #release()} may be called
     */
    public void add(ByteBuf part, Consumer<ByteBuf> out) {
        compressed += part.readableBytes();
        try {
            for (ByteBuffer piece : part.nioBuffers()) {
                while (piece.hasRemaining() && !released) {
                    any = true;
                    step(piece, out);
                }
            }
        } catch (DataFormatException e) {
            throw new OipException(ErrorCode.INVALID_ARGUMENT, "malformed compressed content", e);
        } finally {
            part.release();
        }
    }

    private void step(ByteBuffer in, Consumer<ByteBuf> out) throws DataFormatException {
        switch (state) {
            case HEADER -> header(in.get(), out);
            case CONTENT -> inflate(in, out);
            case TRAILER -> trailer(in.get());
            case END -> throw new DataFormatException("more than the content");
        }
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
            inflate(ByteBuffer.wrap(new byte[] {(byte) first, (byte) second}), out);
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

    private void inflate(ByteBuffer in, Consumer<ByteBuf> out) throws DataFormatException {
        Inflater using = inflater;
        if (using == null) {
            throw new IllegalStateException("there is content before it begins");
        }
        using.setInput(in);
        while (!released) {
            ByteBuf to = space();
            int start = to.writerIndex();
            int length = using.inflate(to.nioBuffer(start, to.writableBytes()));
            if (length > 0) {
                decoded += length;
                limits.check(compressed, decoded);
                crc.update(to.nioBuffer(start, length));
                to.writerIndex(start + length);
                out.accept(to.retainedSlice(start, length));
            } else if (using.finished()) {
                state = gzip ? InflaterState.TRAILER : InflaterState.END;
                return;
            } else if (using.needsDictionary()) {
                throw new DataFormatException("a dictionary that nobody has");
            } else {
                return;
            }
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
        released = true;
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
