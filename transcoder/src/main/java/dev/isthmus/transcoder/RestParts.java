package dev.isthmus.transcoder;

import dev.isthmus.transcoder.buffer.MessageSplice;
import dev.isthmus.transcoder.protobuf.ProtobufWriter;
import dev.isthmus.transcoder.rest.RestRequestReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/**
 * A ModelInferRequest produced in parts: its head, then each tensor's tag, length and bytes as they arrive in a REST
 * body, uncopied. Owns the head until it is taken or {@link #release()} is called; tensor bytes belong to the reader
 * until they are taken.
 */
public final class RestParts {
    private final ByteBufAllocator allocator;
    private final ByteBuf head;
    private final RestRequestReader data;
    private final int inputs;
    private final long length;
    private boolean headTaken;
    /** The index of the input whose bytes come next. */
    private int input;
    /** Its bytes not yet taken; -1 before its tag and length were written. */
    private long left = -1;

    /** @param head taken */
    RestParts(ByteBufAllocator allocator, ByteBuf head, RestRequestReader data, int inputs) {
        this.allocator = allocator;
        this.head = head;
        this.data = data;
        this.inputs = inputs;
        long sum = head.readableBytes();
        for (int i = 0; i < inputs; i++) {
            sum += ProtobufWriter.rawInputHeadSize(data.binarySize(i)) + data.binarySize(i);
        }
        this.length = sum;
    }

    /** The length of the whole message, in bytes. */
    public long length() {
        return length;
    }

    /** Whether {@link #take()} has bytes to return. */
    public boolean waits() {
        return !headTaken || data.held() > 0;
    }

    /** The bytes available and not taken before, owned by the caller; empty if there are none. */
    public ByteBuf take() {
        MessageSplice out = headTaken ? new MessageSplice(allocator) : new MessageSplice(allocator, head);
        headTaken = true;
        try {
            while (input < inputs && appendInput(out)) {
                input++;
                left = -1;
            }
            return out.take();
        } finally {
            out.release();
        }
    }

    /** Takes the available bytes of the current input; returns whether it is complete. */
    private boolean appendInput(MessageSplice out) {
        if (left < 0) {
            left = data.binarySize(input);
            ProtobufWriter.rawInputHead(out.tail(), left);
        }
        ByteBuf part = data.takeBinary(input);
        try {
            out.part(part, part.readerIndex(), part.readableBytes());
            left -= part.readableBytes();
            return left == 0;
        } finally {
            part.release();
        }
    }

    /** Releases the head unless it was taken; idempotent. */
    public void release() {
        if (!headTaken) {
            headTaken = true;
            head.release();
        }
    }
}
