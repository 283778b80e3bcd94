package dev.isthmus.transcoder.buffer;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;

/**
 * A message put together, front to back, of new bytes and of parts of another message, which are not copied unless they are
 * small. The parts keep what they are slices of; nothing is taken out of it.
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

    /** Where new bytes are written; valid until the next part. */
    public ByteBuf tail() {
        ByteBuf open = tail;
        if (open == null) {
            open = allocator.buffer(64);
            tail = open;
        }
        return open;
    }

    /** Adds a part of a message (borrowed). */
    public void part(ByteBuf message, int index, int length) {
        if (length < COPY_BELOW) {
            tail().writeBytes(message, index, length);
        } else {
            add(closedTail(), message, index, length);
        }
    }

    /**
     * The same bytes once more (borrowed, uncopied), with indices and a reference of its own. What is made of parts stays
     * so, because writers look at them.
     */
    public static ByteBuf retained(ByteBuf message) {
        if (!(message instanceof CompositeByteBuf)) {
            return message.retainedDuplicate();
        }
        CompositeByteBuf same = message.alloc().compositeBuffer(Integer.MAX_VALUE);
        add(same, message, message.readerIndex(), message.readableBytes());
        return same;
    }

    /** A view of a composite is not looked into: its parts may not keep the memory that they lie in. */
    private static void add(CompositeByteBuf to, ByteBuf message, int index, int length) {
        if (message instanceof CompositeByteBuf composite) {
            for (ByteBuf part : composite.decompose(index, length)) {
                to.addComponent(true, part.retain());
            }
        } else {
            to.addComponent(true, message.retainedSlice(index, length));
        }
    }

    /** What was put together, owned by the caller. */
    public ByteBuf take() {
        ByteBuf all = whole == null ? tail : closedTail();
        whole = null;
        tail = null;
        return all == null ? Unpooled.EMPTY_BUFFER : all;
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
