package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.transcoder.buffer.BufferCollector;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.codec.ByteToMessageDecoder;
import org.jspecify.annotations.Nullable;

/**
 * The one piece of memory that a large binary body lands in, however many reads it takes, so that a tensor in it is one
 * buffer and nobody has to gather it. Of one HTTP/1.1 connection, used on its loop.
 *
 * <p>Memory is there only while a body is being read. Before anything is known of a connection it is little more than 1 MiB at most; a body
 * that is larger goes on in further pieces, each as large as what has come. Once a body has come complete, the next one's
 * head is read into memory for all of it. What lies ahead of the bytes that have come is bounded by {@link ReadAheadBudget}.
 */
final class BodyReadBuffer {
    /**
     * How bodies are read.
     *
     * @param worth bodies up to this size are read as they come: one read has most of them
     * @param unproven the most memory for a body of a size that the connection has not shown yet
     * @param most the most memory for any body
     * @param copied the most that is copied: what came along with the head of a connection's first large body
     */
    record ReadSizes(int worth, int unproven, int most, int copied) {
        static final ReadSizes DEFAULT = new ReadSizes(64 << 10, (1 << 20) + (64 << 10), 16 << 20, 64 << 10);
    }

    private static final int HEAD = IngressSettings.MAX_REQUEST_LINE + IngressSettings.MAX_HEADER_BYTES;

    private final ReadSizes sizes;
    private final ReadAheadBudget ahead;
    private @Nullable ByteBuf memory;
    /** Bytes of the memory that have been read into. */
    private int filled;
    /** Of the body that is being read; 0 for none. */
    private long size;
    /** Bytes of it that have not been handed on. */
    private long left;
    /** The size of the last body, once it has come. */
    private int proven;

    BodyReadBuffer(ReadSizes sizes, ReadAheadBudget ahead) {
        this.sizes = sizes;
        this.ahead = ahead;
    }

    /** Whether a request is read into it: what is decoded as it comes (JSON, compressed bodies) need not lie in one piece. */
    boolean worth(RequestHead head, long bodySize) {
        return bodySize > sizes.worth() && head.field(HeaderAllowList.JSON_LENGTH) != null && !head.compressed();
    }

    /** A body begins whose parts go through {@link #place}. */
    void begin(long bodySize) {
        size = bodySize;
        left = bodySize;
    }

    /** What is read from here on is no large body: nothing is held any more. */
    void end() {
        size = 0;
        left = 0;
        proven = 0;
        drop();
    }

    /** Where the next read goes, owned by the caller; null where it may go anywhere. */
    @Nullable
    ByteBuf space(ByteBufAllocator allocator) {
        ByteBuf to = memory;
        if (to != null && (filled == to.capacity() || (left > 0 && left == size && size > to.capacity() - filled))) {
            // Full, or of a smaller body: the head that lies in it has been read.
            drop();
            to = null;
        }
        if (to == null) {
            to = acquire(allocator);
        }
        if (to == null) {
            return null;
        }
        int room = to.capacity() - filled;
        int length = left > 0 ? (int) Math.min(left, room) : room;
        // A slice with the memory's own count: who looks at its count sees whether anybody else is at the memory.
        return to.slice(filled, length).setIndex(0, 0).retain();
    }

    private @Nullable ByteBuf acquire(ByteBufAllocator allocator) {
        int capacity = 0;
        if (left > 0) {
            capacity = (int)
                    Math.min(left, Math.max(Math.max(sizes.unproven(), proven), Math.min(sizes.most(), size - left)));
        } else if (proven > 0) {
            capacity = proven + HEAD;
        }
        if (capacity == 0 || !ahead.take(capacity)) {
            return null;
        }
        try {
            ByteBuf fresh = allocator.directBuffer(capacity, capacity);
            memory = fresh;
            filled = 0;
            return fresh;
        } catch (OutOfMemoryError none) {
            // There is no such piece; a read's may still be there.
            ahead.giveBack(capacity);
            return null;
        }
    }

    /** So many bytes were read into what {@link #space} gave. */
    void read(int bytes) {
        filled += bytes;
        ahead.giveBack(bytes);
    }

    /** All that was read has been looked at. Memory is kept only for the rest of a head or of a body. */
    void readComplete() {
        if (left == 0 && filled == 0) {
            drop();
        }
    }

    /**
     * The next part of the body, as a view of the memory that it lies in together with what follows it.
     *
     * @param part taken
     * @return owned by the caller
     */
    ByteBuf place(ByteBuf part, ByteBufAllocator allocator) {
        int length = part.readableBytes();
        if (left == 0 || length == 0) {
            return part;
        }
        int at = indexOf(part);
        if (left == size && length <= sizes.copied() && !fits(at)) {
            drop();
            at = copied(part, allocator);
        }
        left -= length;
        ByteBuf whole = memory;
        ByteBuf placed = part;
        if (at >= 0 && whole != null) {
            placed = whole.retainedDuplicate().setIndex(at, at + length);
            part.release();
        }
        if (left == 0) {
            proven = (int) Math.min(size, sizes.most());
            drop();
        }
        return placed;
    }

    /** Puts reads together that end within a head: what was read into the memory lies there in one piece already. */
    static ByteBuf cumulate(ByteBufAllocator allocator, ByteBuf before, ByteBuf next) {
        if (before.isReadable() && BufferCollector.extend(before, next)) {
            next.release();
            return before;
        }
        return ByteToMessageDecoder.MERGE_CUMULATOR.cumulate(allocator, before, next);
    }

    /** Whether all of a body that begins here has room. */
    private boolean fits(int at) {
        ByteBuf to = memory;
        return at >= 0 && to != null && size <= to.capacity() - at;
    }

    /** Where the part lies in the memory; -1 for elsewhere. */
    private int indexOf(ByteBuf part) {
        ByteBuf in = memory;
        if (in == null || !in.hasMemoryAddress() || !part.hasMemoryAddress()) {
            return -1;
        }
        long at = part.memoryAddress() + part.readerIndex() - in.memoryAddress();
        return at >= 0 && at + part.readableBytes() <= filled ? (int) at : -1;
    }

    /** Copies the first part to where the others will land; -1 where there is no room for them. */
    private int copied(ByteBuf part, ByteBufAllocator allocator) {
        ByteBuf to = acquire(allocator);
        if (to == null) {
            return -1;
        }
        int length = part.readableBytes();
        to.setBytes(0, part, part.readerIndex(), length);
        read(length);
        return 0;
    }

    private void drop() {
        ByteBuf dropped = memory;
        if (dropped != null) {
            memory = null;
            ahead.giveBack(dropped.capacity() - filled);
            dropped.release();
        }
    }
}
