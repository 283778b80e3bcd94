package dev.isthmus.gateway.payloadlog;

import dev.isthmus.gateway.memory.ReservedBytes;
import dev.isthmus.transcoder.buffer.BufferCollector;
import dev.isthmus.transcoder.buffer.SmallParts;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;

/**
 * Gathers one body or message for the log, up to a size, while its parts pass. Parts share their memory with the call;
 * those that pin much more memory than they fill are copied. Confined to the event loop of the call.
 */
final class PayloadBuffer {
    /** A part that pins more than this many times its size is copied. */
    private static final int MAX_PINNED = 4;

    private final ByteBufAllocator allocator;
    private final ReservedBytes memory;
    private final PayloadMeters meters;
    private final long maxSize;
    private final BufferCollector parts;
    private long size;
    private long held;
    private GatherState state = GatherState.GATHERING;

    enum GatherState {
        GATHERING,
        TOO_LARGE,
        NO_MEMORY
    }

    /** @param maxSize of the payload in bytes; nothing is kept of larger ones */
    PayloadBuffer(ByteBufAllocator allocator, ReservedBytes memory, PayloadMeters meters, long maxSize) {
        this.allocator = allocator;
        this.memory = memory;
        this.meters = meters;
        this.maxSize = maxSize;
        this.parts = new BufferCollector(allocator);
    }

    /** Adds a part (borrowed). */
    void add(ByteBuf part) {
        int bytes = part.readableBytes();
        size += bytes;
        if (state != GatherState.GATHERING) {
            return;
        }
        if (size > maxSize) {
            drop(GatherState.TOO_LARGE);
        } else if (!reserve(bytes)) {
            drop(GatherState.NO_MEMORY);
        } else {
            try {
                gather(part);
            } catch (OutOfMemoryError exhausted) {
                // Of direct memory: costs the event, not the call.
                drop(GatherState.NO_MEMORY);
            }
        }
    }

    private void gather(ByteBuf part) {
        if (part instanceof CompositeByteBuf composite) {
            for (ByteBuf each : composite.decompose(composite.readerIndex(), part.readableBytes())) {
                keep(each);
            }
        } else {
            keep(part);
        }
    }

    private void keep(ByteBuf part) {
        boolean copied = SmallParts.memory(part) > (long) MAX_PINNED * part.readableBytes();
        parts.add(
                copied
                        ? allocator
                                .buffer(part.readableBytes())
                                .writeBytes(part, part.readerIndex(), part.readableBytes())
                        : part.retainedSlice());
    }

    private boolean reserve(long bytes) {
        if (!memory.reserve(bytes)) {
            return false;
        }
        held += bytes;
        meters.queued.addAndGet(bytes);
        return true;
    }

    private void drop(GatherState why) {
        state = why;
        parts.release();
        memory.release(held);
        meters.queued.addAndGet(-held);
        held = 0;
    }

    GatherState state() {
        return state;
    }

    /** The bytes added, kept or not. */
    long size() {
        return size;
    }

    /** The gathered bytes, owned by the caller, which also owns the reservation of {@link #size()} bytes. */
    ByteBuf take() {
        held = 0;
        return parts.take();
    }

    /** Releases what was gathered and not taken. Idempotent. */
    void release() {
        if (state == GatherState.GATHERING) {
            drop(GatherState.NO_MEMORY);
        }
    }
}
