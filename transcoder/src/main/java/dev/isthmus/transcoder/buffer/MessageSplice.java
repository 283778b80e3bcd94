package dev.isthmus.transcoder.buffer;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;

/**
 * Builds a message, front to back, from new bytes and from parts of another message, which are copied only if they are
 * small. The parts are slices that retain the other message's memory.
 */
public final class MessageSplice {
    /** Below this size a copy costs less than one more component. */
    private static final int COPY_BELOW = 1024;

    private final ByteBufAllocator allocator;
    private @Nullable CompositeByteBuf whole;
    private @Nullable ByteBuf tail;

    public MessageSplice(ByteBufAllocator allocator) {
        this.allocator = allocator;
    }

    /** @param begin the message's first bytes, taken; more are written to it */
    public MessageSplice(ByteBufAllocator allocator, ByteBuf begin) {
        this(allocator);
        this.tail = begin;
    }

    /** The buffer for new bytes; valid until the next {@link #part}. */
    public ByteBuf tail() {
        ByteBuf open = tail;
        if (open == null) {
            open = allocator.buffer(64);
            tail = open;
        }
        return open;
    }

    /** Appends a part of a message (borrowed). */
    public void part(ByteBuf message, int index, int length) {
        if (length < COPY_BELOW) {
            tail().writeBytes(message, index, length);
        } else {
            add(closedTail(), message, index, length);
        }
    }

    /**
     * A view of the message (borrowed) with its own indices and reference. A composite stays a composite, because
     * writers look at its components.
     */
    public static ByteBuf retained(ByteBuf message) {
        if (!(message instanceof CompositeByteBuf)) {
            return message.retainedDuplicate();
        }
        CompositeByteBuf same = message.alloc().compositeBuffer(Integer.MAX_VALUE);
        add(same, message, message.readerIndex(), message.readableBytes());
        return same;
    }

    /** Views of a composite are not decomposed: their components may not retain the underlying memory. */
    private static void add(CompositeByteBuf to, ByteBuf message, int index, int length) {
        if (message instanceof CompositeByteBuf composite) {
            for (ByteBuf part : composite.decompose(index, length)) {
                to.addComponent(true, part.retain());
            }
        } else {
            to.addComponent(true, message.retainedSlice(index, length));
        }
    }

    /** The message, owned by the caller. */
    public ByteBuf take() {
        ByteBuf all = whole == null ? tail : closedTail();
        whole = null;
        tail = null;
        return all == null ? Unpooled.EMPTY_BUFFER : all;
    }

    /** Releases what was not taken. */
    public void release() {
        take().release();
    }

    private CompositeByteBuf closedTail() {
        CompositeByteBuf open = whole == null ? allocator.compositeBuffer(Integer.MAX_VALUE) : whole;
        whole = open;
        if (tail != null) {
            open.addComponent(true, tail);
            tail = null;
        }
        return open;
    }
}
