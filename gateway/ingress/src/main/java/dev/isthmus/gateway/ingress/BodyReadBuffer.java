package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.memory.ReservedBytes;
import dev.isthmus.gateway.net.PackedReadAllocator;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.transcoder.buffer.BufferCollector;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.util.UncheckedBooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The contiguous memory into which a large binary body is read, however many reads it takes, so that a tensor in it is
 * one buffer and need not be copied together. Belongs to one HTTP/1.1 connection, confined to its event loop.
 *
 * <p>Memory is allocated only while a body is being read. At first it is little more than 1 MiB at most; a larger body
 * continues in further pieces, each as large as the bytes received so far. Once a body has been received completely,
 * the head of the next request is read into memory for all of it. Memory allocated ahead of the received bytes is
 * limited for all connections of a listener together; when that is exhausted, bodies are read in parts.
 */
final class BodyReadBuffer {
    /**
     * The sizes that control how bodies are read.
     *
     * @param minBody bodies up to this size are read as they arrive, because one read contains most of them
     * @param maxInitial the maximum memory for a body larger than any that the connection has completed
     * @param max the maximum memory for any body
     * @param maxCopied the maximum number of bytes copied: those that were read together with the head of a
     *     connection's first large body
     */
    record ReadSizes(int minBody, int maxInitial, int max, int maxCopied) {
        static final ReadSizes DEFAULT = new ReadSizes(64 << 10, (1 << 20) + (64 << 10), 16 << 20, 64 << 10);
        /** For connections that do not read bodies as they are. */
        static final ReadSizes NEVER = new ReadSizes(Integer.MAX_VALUE, 0, 0, 0);
    }

    private static final int HEAD = IngressSettings.MAX_REQUEST_LINE + IngressSettings.MAX_HEADER_BYTES;

    private final ReadSizes sizes;
    private final ReservedBytes ahead;
    private @Nullable ByteBuf memory;
    /** Bytes of the memory that have been read. */
    private int filled;
    /** Size of the body being read; 0 for none. */
    private long size;
    /** Bytes of it that have not been passed on. */
    private long remaining;
    /** Size of the last body that was received completely. */
    private int completedSize;

    /** @param ahead limits the announced bytes that were not received yet */
    BodyReadBuffer(ReadSizes sizes, ReservedBytes ahead) {
        this.sizes = sizes;
        this.ahead = ahead;
    }

    /**
     * Makes its connection read into it while a body is read, and otherwise into buffers sized by earlier reads.
     *
     * @param usual makes those
     */
    @SuppressWarnings("deprecation") // channels call it
    RecvByteBufAllocator reads(PackedReadAllocator usual) {
        return () -> new ReadHandle(usual.newHandle());
    }

    /**
     * Whether a request body is read into it. What is decoded while it arrives (JSON, compressed bodies) need not be
     * contiguous.
     */
    boolean appliesTo(RequestHead head, long bodySize) {
        return bodySize > sizes.minBody() && head.field(HeaderAllowList.JSON_LENGTH) != null && !head.compressed();
    }

    /** Starts a body whose parts are passed through {@link #place}. */
    void begin(long bodySize) {
        size = bodySize;
        remaining = bodySize;
    }

    /** Ends reading of large bodies: releases the memory. */
    void end() {
        size = 0;
        remaining = 0;
        completedSize = 0;
        drop();
    }

    /** Where the next read goes, owned by the caller; null if any buffer will do. */
    private @Nullable ByteBuf space(ByteBufAllocator allocator) {
        ByteBuf to = memory;
        if (to != null
                && (filled == to.capacity() || (remaining > 0 && remaining == size && size > to.capacity() - filled))) {
            // Full, or too small for this body: the head in it has been parsed.
            drop();
            to = null;
        }
        if (to == null) {
            to = acquire(allocator);
        }
        if (to == null) {
            return null;
        }
        int available = to.capacity() - filled;
        int length = remaining > 0 ? (int) Math.min(remaining, available) : available;
        // The slice shares the memory's reference count, so that the count shows whether anyone else holds the memory.
        return to.slice(filled, length).setIndex(0, 0).retain();
    }

    private @Nullable ByteBuf acquire(ByteBufAllocator allocator) {
        int capacity = 0;
        if (remaining > 0) {
            long atLeast = Math.max(sizes.maxInitial(), completedSize);
            capacity = (int) Math.min(remaining, Math.max(atLeast, Math.min(sizes.max(), size - remaining)));
        } else if (completedSize > 0) {
            capacity = completedSize + HEAD;
        }
        if (capacity == 0 || !ahead.reserve(capacity)) {
            return null;
        }
        try {
            ByteBuf allocated = allocator.directBuffer(capacity, capacity);
            memory = allocated;
            filled = 0;
            return allocated;
        } catch (OutOfMemoryError none) {
            // No contiguous memory of this size; there may still be enough for one read.
            ahead.release(capacity);
            return null;
        }
    }

    /** Records the bytes that were read into the buffer returned by {@link #space}. */
    private void read(int bytes) {
        filled += bytes;
        ahead.release(bytes);
    }

    /** All read bytes have been decoded. The memory is kept only for the rest of a head or of a body. */
    private void allRead() {
        if (remaining == 0 && filled == 0) {
            drop();
        }
    }

    /**
     * Returns the next part of the body as a view of the memory that also holds the bytes that follow.
     *
     * @param part taken
     * @return owned by the caller
     */
    ByteBuf place(ByteBuf part, ByteBufAllocator allocator) {
        int length = part.readableBytes();
        if (remaining == 0 || length == 0) {
            return part;
        }
        int at = indexOf(part);
        if (remaining == size && length <= sizes.maxCopied() && !fits(at)) {
            drop();
            at = copied(part, allocator);
        }
        remaining -= length;
        ByteBuf whole = memory;
        ByteBuf placed = part;
        if (at >= 0 && whole != null) {
            placed = whole.retainedDuplicate().setIndex(at, at + length);
            part.release();
        }
        if (remaining == 0) {
            completedSize = (int) Math.min(size, sizes.max());
            drop();
        }
        return placed;
    }

    /** Cumulates reads that end within a head: bytes read into the memory are already contiguous. */
    static ByteBuf cumulate(ByteBufAllocator allocator, ByteBuf before, ByteBuf next) {
        if (before.isReadable() && BufferCollector.extend(before, next)) {
            next.release();
            return before;
        }
        return ByteToMessageDecoder.MERGE_CUMULATOR.cumulate(allocator, before, next);
    }

    /** Whether a body that starts here fits into the memory. */
    private boolean fits(int at) {
        ByteBuf to = memory;
        return at >= 0 && to != null && size <= to.capacity() - at;
    }

    /** Returns the index of the part in the memory; -1 if it is elsewhere. */
    private int indexOf(ByteBuf part) {
        ByteBuf in = memory;
        if (in == null || !in.hasMemoryAddress() || !part.hasMemoryAddress()) {
            return -1;
        }
        long at = part.memoryAddress() + part.readerIndex() - in.memoryAddress();
        return at >= 0 && at + part.readableBytes() <= filled ? (int) at : -1;
    }

    /** Copies the first part in front of the ones to be read; returns -1 if there is no memory for them. */
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
            ahead.release(dropped.capacity() - filled);
            dropped.release();
        }
    }

    /** The reads of the connection. The handle of ordinary reads does not learn from reads into this buffer. */
    @SuppressWarnings("deprecation") // see above
    private final class ReadHandle extends RecvByteBufAllocator.DelegatingHandle
            implements RecvByteBufAllocator.ExtendedHandle {
        private final PackedReadAllocator.PackedReadHandle usual;
        private boolean readsBody;
        private int attempted;
        private int last;

        ReadHandle(PackedReadAllocator.PackedReadHandle usual) {
            super(usual);
            this.usual = usual;
        }

        @Override
        public ByteBuf allocate(ByteBufAllocator allocator) {
            ByteBuf space = space(allocator);
            readsBody = space != null;
            if (space == null) {
                return usual.allocate(allocator);
            }
            usual.drop();
            return space;
        }

        @Override
        public void attemptedBytesRead(int bytes) {
            attempted = bytes;
            if (!readsBody) {
                usual.attemptedBytesRead(bytes);
            }
        }

        @Override
        public int attemptedBytesRead() {
            return attempted;
        }

        @Override
        public void lastBytesRead(int bytes) {
            last = bytes;
            if (!readsBody) {
                usual.lastBytesRead(bytes);
            } else if (bytes > 0) {
                read(bytes);
            }
        }

        @Override
        public int lastBytesRead() {
            return last;
        }

        @Override
        public boolean continueReading() {
            return usual.continueReading(() -> last > 0 && last == attempted);
        }

        @Override
        public boolean continueReading(UncheckedBooleanSupplier more) {
            return usual.continueReading(more);
        }

        @Override
        public void readComplete() {
            allRead();
            if (!readsBody) {
                usual.readComplete();
            }
        }
    }
}
