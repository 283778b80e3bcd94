package dev.isthmus.gateway.grpc;

import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.coding.InflationLimits;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.buffer.SmallParts;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Takes the messages of one gRPC stream out of its data. Bytes are not copied: a message is a slice of what arrived, or made
 * of slices where it came in parts, of which only {@linkplain SmallParts small ones} are copied. Its length is checked before
 * it is gathered. A large one need not be gathered: it can be {@linkplain #open opened}, and is then taken part by part. A
 * compressed one is inflated as it comes.
 */
public final class GrpcDeframer {
    /** A message that is not longer is not worth taking in parts, in bytes. */
    public static final long LARGE = 64 << 10;

    /** What {@link #open} says where there is nothing to open. */
    public static final long NOT_OPENED = -1;

    private final ByteBufAllocator allocator;
    private final InflationLimits limits;
    private final @Nullable ContentCoding coding;
    /** What is held as long as it is one part. */
    private @Nullable ByteBuf single;
    /** What is held once it is more. */
    private @Nullable CompositeByteBuf gathered;
    /** The compressed message that has begun. */
    private @Nullable InflatedMessage inflated;
    /** Of the message that is open, what was not taken. */
    private long missing;

    private long announced;

    /**
     * Nothing has come yet.
     *
     * @param maxMessageBytes of a message, also of one that is inflated
     * @param coding what the header grpc-encoding says; null for identity
     */
    public GrpcDeframer(ByteBufAllocator allocator, long maxMessageBytes, @Nullable ContentCoding coding) {
        this(allocator, new InflationLimits(maxMessageBytes, InflationLimits.DEFAULT_RATIO), coding);
    }

    /**
     * Nothing has come yet.
     *
     * @param limits of a message, also of one that is inflated
     * @param coding what the header grpc-encoding says; null for identity
     */
    public GrpcDeframer(ByteBufAllocator allocator, InflationLimits limits, @Nullable ContentCoding coding) {
        this.coding = coding;
        this.allocator = allocator;
        this.limits = limits;
    }

    /**
     * The next part of the data.
     *
     * @param data taken
     */
    public void add(ByteBuf data) {
        if (!data.isReadable()) {
            // As some clients end a stream.
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
     * The next message that is complete, owned by the caller; null when more data is needed, and while a message is open.
     *
     * @throws OipException PAYLOAD_TOO_LARGE for a message that is too large, INTERNAL for one that is compressed though no
     *     grpc-encoding says how
     */
    public @Nullable ByteBuf next() {
        if (inflated != null) {
            return inflate(inflated);
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
            return inflate(begun);
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

    private @Nullable ByteBuf inflate(InflatedMessage message) {
        ByteBuf in = held();
        if (in != null && !message.complete()) {
            message.add(take(in, message.of(in.readableBytes())));
        }
        if (!message.complete()) {
            return null;
        }
        ByteBuf whole = message.take();
        inflated = null;
        return whole;
    }

    /**
     * Opens the next message where it is large, not compressed and not complete: from here on it is taken by {@link #part}.
     *
     * @param least a message that is not longer is not opened
     * @return its length; {@link #NOT_OPENED} where it is not opened, and while another one is open
     * @throws OipException as of {@link #next}
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

    /** What has come of the message that is open, owned by the caller; null when more data is needed, and where none is open. */
    public @Nullable ByteBuf part() {
        return part(Integer.MAX_VALUE);
    }

    /** As {@link #part()}, but not more than so many bytes at once. */
    public @Nullable ByteBuf part(int most) {
        ByteBuf in = held();
        if (missing == 0 || in == null || !in.isReadable()) {
            return null;
        }
        int length = (int) Math.min(Math.min(in.readableBytes(), most), missing);
        missing -= length;
        return take(in, length);
    }

    /** Bytes of the message that is open which {@link #part} has not given yet; 0 once it is complete, and where none is open. */
    public long missing() {
        return missing;
    }

    /** What stays here until more comes must not keep the memory of a whole read for a few bytes. */
    private void keep() {
        if (single != null) {
            single = SmallParts.kept(allocator, single);
        }
    }

    /** Bytes of the message that is being gathered, as its prefix announces them; 0 where there is none. */
    public long announced() {
        return announced;
    }

    /** Bytes that have come and were not taken; of a compressed message what it has become, and what inflating it takes. */
    public int bytes() {
        ByteBuf in = held();
        return (in == null ? 0 : in.readableBytes()) + (inflated == null ? 0 : inflated.bytes());
    }

    private @Nullable ByteBuf held() {
        return gathered == null ? single : gathered;
    }

    private void check(int flag, long length) {
        if (flag > 1) {
            throw new OipException(ErrorCode.INTERNAL, "gRPC message: compressed flag 0 or 1 is expected, got " + flag);
        }
        if (length > limits.maxBytes()) {
            throw new OipException(
                    ErrorCode.PAYLOAD_TOO_LARGE,
                    "gRPC message: at most " + limits.maxBytes() + " bytes are taken, got " + length);
        }
        if (flag == 1 && coding == null) {
            throw new OipException(ErrorCode.INTERNAL, "gRPC message: compressed, but grpc-encoding does not say how");
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

    /** The parts of this message alone, so that those of the next do not keep it. */
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

    /** Whether data is left over that makes no complete message, or some is missing. */
    public boolean partial() {
        ByteBuf in = held();
        return missing > 0 || inflated != null || (in != null && in.isReadable());
    }

    /** Gives back what is held; may be called more than once. */
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
}
