package dev.isthmus.gateway.grpc;

import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.coding.ContentInflater;
import dev.isthmus.gateway.coding.InflationLimits;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.buffer.SmallParts;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Splits the data of one gRPC stream into messages. A message is a slice of a received buffer, or a composite of slices
 * if it arrived in parts; only {@linkplain SmallParts small parts} are copied. Its length is checked before it is
 * buffered. A large message can be {@linkplain #open opened} and read part by part instead. A compressed message is
 * inflated as it arrives.
 */
public final class GrpcDeframer {
    /** Messages up to this many bytes are not worth reading in parts. */
    public static final long LARGE = 64 << 10;

    /** Returned by {@link #open} if no message was opened. */
    public static final long NOT_OPENED = -1;

    private final ByteBufAllocator allocator;
    private final InflationLimits limits;
    private final @Nullable ContentCoding coding;
    /** Pending data, while it is one buffer. */
    private @Nullable ByteBuf single;
    /** Pending data of several buffers. */
    private @Nullable CompositeByteBuf gathered;
    /** The compressed message being inflated. */
    private @Nullable InflatedMessage inflated;
    /** Bytes of the open message not yet read. */
    private long missing;

    private long announced;

    /**
     * @param maxMessageBytes limit of a message, before and after decompression
     * @param coding from the header grpc-encoding; null for identity
     */
    public GrpcDeframer(ByteBufAllocator allocator, long maxMessageBytes, @Nullable ContentCoding coding) {
        this(allocator, new InflationLimits(maxMessageBytes, InflationLimits.DEFAULT_RATIO), coding);
    }

    /**
     * @param limits of a message, before and after decompression
     * @param coding from the header grpc-encoding; null for identity
     */
    public GrpcDeframer(ByteBufAllocator allocator, InflationLimits limits, @Nullable ContentCoding coding) {
        this.coding = coding;
        this.allocator = allocator;
        this.limits = limits;
    }

    /** Adds the next part of the data, which is taken. */
    public void add(ByteBuf data) {
        if (!data.isReadable()) {
            // Some clients end a stream with empty DATA.
            data.release();
            return;
        }
        if (gathered == null && single == null) {
            single = data;
            return;
        }
        ByteBuf before = gathered == null ? single : gathered;
        single = null;
        gathered = before == null ? null : SmallParts.join(allocator, before, data);
    }

    /**
     * The next complete message, owned by the caller; null if more data is needed or while a message is open.
     *
     * @throws OipException PAYLOAD_TOO_LARGE for a message that is too large, INTERNAL for a compressed one without a
     *     grpc-encoding
     */
    public @Nullable ByteBuf next() {
        return next(() -> true);
    }

    /**
     * As {@link #next()}, but inflates only as long as {@code more} is true: it is checked before each step, which
     * inflates at most 64 KiB. If null is returned and the message is {@link #unfinished}, the next call goes on.
     */
    public @Nullable ByteBuf next(BooleanSupplier more) {
        if (inflated != null) {
            return inflate(inflated, more);
        }
        ByteBuf in = held();
        if (missing > 0 || in == null) {
            return null;
        }
        if (in.readableBytes() < MessagePrefix.BYTES) {
            keep();
            return null;
        }
        int start = in.readerIndex();
        int flag = in.getUnsignedByte(start);
        long length = in.getUnsignedInt(start + 1);
        check(flag, length);
        if (flag == 1 && coding != null) {
            take(in, MessagePrefix.BYTES).release();
            InflatedMessage begun = new InflatedMessage(allocator, coding.decoder(allocator, limits), length);
            inflated = begun;
            return inflate(begun, more);
        }
        if (in.readableBytes() - MessagePrefix.BYTES < length) {
            announced = length;
            keep();
            return null;
        }
        announced = 0;
        in.skipBytes(MessagePrefix.BYTES);
        return take(in, (int) length);
    }

    /** Whether received bytes of a compressed message are still to be inflated. */
    public boolean unfinished() {
        return inflated != null && !inflated.decoder.done();
    }

    /** Inflated bytes of the message that is being inflated; 0 if there is none. */
    public int inflatedBytes() {
        return inflated == null ? 0 : inflated.out.readableBytes();
    }

    private @Nullable ByteBuf inflate(InflatedMessage message, BooleanSupplier more) {
        ByteBuf in = held();
        int own = in == null ? 0 : (int) Math.min(in.readableBytes(), message.missing);
        if (in != null && own > 0) {
            message.missing -= own;
            message.decoder.add(take(in, own));
        }
        message.decoder.decode(more, part -> SmallParts.append(message.out, part));
        if (message.missing > 0 || !message.decoder.done()) {
            return null;
        }
        ByteBuf whole = message.take();
        inflated = null;
        return whole;
    }

    /**
     * Opens the next message if it is large, uncompressed and incomplete: from then on it is read by {@link #part}.
     *
     * @param least a message is opened only if it is longer, in bytes
     * @return its length; {@link #NOT_OPENED} if it was not opened or another one is open
     * @throws OipException as {@link #next}
     */
    public long open(long least) {
        ByteBuf in = held();
        if (missing > 0 || inflated != null || in == null || in.readableBytes() < MessagePrefix.BYTES) {
            return NOT_OPENED;
        }
        int flag = in.getUnsignedByte(in.readerIndex());
        long length = in.getUnsignedInt(in.readerIndex() + 1);
        check(flag, length);
        if (flag != 0 || length <= least || in.readableBytes() - MessagePrefix.BYTES >= length) {
            return NOT_OPENED;
        }
        in.skipBytes(MessagePrefix.BYTES);
        missing = length;
        return length;
    }

    /** The next part of the open message, owned by the caller; null if more data is needed or none is open. */
    public @Nullable ByteBuf part() {
        return part(Integer.MAX_VALUE);
    }

    /** As {@link #part()}, with at most {@code most} bytes. */
    public @Nullable ByteBuf part(int most) {
        ByteBuf in = held();
        if (missing == 0 || in == null || !in.isReadable()) {
            return null;
        }
        int length = (int) Math.min(Math.min(in.readableBytes(), most), missing);
        missing -= length;
        return take(in, length);
    }

    /** Bytes of the open message not yet returned by {@link #part}; 0 if it is complete or none is open. */
    public long missing() {
        return missing;
    }

    /** Copies a small remainder, so that a few bytes do not retain the buffer of a whole read. */
    private void keep() {
        if (single != null) {
            single = SmallParts.kept(allocator, single);
        }
    }

    /** Length of the incomplete message according to its prefix; 0 if there is none. */
    public long announced() {
        return announced;
    }

    /** Bytes held: pending data and, for a compressed message, its inflated bytes and the decoder's memory. */
    public int bytes() {
        ByteBuf in = held();
        return (in == null ? 0 : in.readableBytes()) + (inflated == null ? 0 : inflated.bytes());
    }

    private @Nullable ByteBuf held() {
        return gathered == null ? single : gathered;
    }

    private void check(int flag, long length) {
        if (flag > 1) {
            throw OipException.misframed("gRPC message: a compressed flag of 0 or 1 is expected, got " + flag);
        }
        if (length > limits.maxBytes()) {
            throw new OipException(
                    ErrorCode.PAYLOAD_TOO_LARGE,
                    "gRPC message: at most " + limits.maxBytes() + " bytes are accepted, got " + length);
        }
        if (flag == 1 && coding == null) {
            throw OipException.misframed("gRPC message: compressed, but there is no grpc-encoding");
        }
    }

    private ByteBuf take(ByteBuf in, int length) {
        if (in.readableBytes() == length) {
            single = null;
            gathered = null;
            return in;
        }
        return gathered == null ? in.readRetainedSlice(length) : takeParts(gathered, length);
    }

    /** Only the parts of this message, so that it does not retain those of the next. */
    private ByteBuf takeParts(CompositeByteBuf in, int length) {
        List<ByteBuf> parts = in.decompose(in.readerIndex(), length);
        ByteBuf message = parts.isEmpty()
                ? Unpooled.EMPTY_BUFFER
                : parts.size() == 1 ? parts.getFirst().retain() : together(parts);
        in.skipBytes(length).discardReadComponents();
        return message;
    }

    private ByteBuf together(List<ByteBuf> parts) {
        CompositeByteBuf message = allocator.compositeBuffer(Integer.MAX_VALUE);
        for (ByteBuf part : parts) {
            message.addComponent(true, part.retain());
        }
        return message;
    }

    /** Whether a message is incomplete. */
    public boolean partial() {
        ByteBuf in = held();
        return missing > 0 || inflated != null || (in != null && in.isReadable());
    }

    /** Releases all buffers; may be called more than once. */
    public void release() {
        ByteBuf in = held();
        single = null;
        gathered = null;
        if (in != null) {
            in.release();
        }
        InflatedMessage begun = inflated;
        inflated = null;
        if (begun != null) {
            begun.release();
        }
    }

    private static final class InflatedMessage {
        private final ContentInflater decoder;
        private final CompositeByteBuf out;
        /** Compressed bytes not yet received. */
        private long missing;

        /** @param length of the compressed message in bytes */
        InflatedMessage(ByteBufAllocator allocator, ContentInflater decoder, long length) {
            this.decoder = decoder;
            this.out = allocator.compositeBuffer(Integer.MAX_VALUE);
            this.missing = length;
        }

        /** Memory held, in bytes. */
        int bytes() {
            return ContentInflater.HELD + decoder.waiting() + out.readableBytes();
        }

        /**
         * The whole message, owned by the caller.
         *
         * @throws dev.isthmus.oip.OipException as {@link ContentInflater#finish}; the message must still be released
         */
        ByteBuf take() {
            decoder.finish();
            decoder.release();
            return SmallParts.complete(out);
        }

        void release() {
            decoder.release();
            out.release();
        }
    }
}
