package dev.isthmus.transcoder;

import dev.isthmus.transcoder.buffer.MessageSplice;
import dev.isthmus.transcoder.protobuf.ProtobufWriter;
import dev.isthmus.transcoder.rest.RestRequestReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/**
 * A ModelInferRequest in parts: its head, and then its tensors' bytes as they come in a REST body, uncopied, each behind its
 * tag and length. Owns the head until it is taken or {@link #release()}d; what has come of the tensors stays the reader's
 * until it is taken.
 */
public final class RestParts {
    private final ByteBufAllocator allocator;
    private final ByteBuf head;
    private final RestRequestReader data;
    private final int inputs;
    private final long length;
    private boolean headGone;
    /** Whose bytes come next. */
    private int input;
    /** Bytes of it that are missing; -1 before its own head went. */
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

    /** Bytes of the whole message. */
    public long length() {
        return length;
    }

    /** Whether anything can go on now. */
    public boolean waits() {
        return !headGone || data.held() > 0;
    }

    /** What can go on now and was not taken before, owned by the caller; empty where nothing has come. */
    public ByteBuf take() {
        MessageSplice out = new MessageSplice(allocator);
        if (!headGone) {
            headGone = true;
            out.tail().writeBytes(head);
            head.release();
        }
        while (input < inputs && tookAll(out)) {
            input++;
            left = -1;
        }
        return out.take();
    }

    /** Takes what has come of the input whose turn it is; whether that was the rest of it. */
    private boolean tookAll(MessageSplice out) {
        if (left < 0) {
            left = data.binarySize(input);
            ProtobufWriter.rawInputHead(out.tail(), left);
        }
        ByteBuf part = data.takeBinary(input);
        int bytes = part.readableBytes();
        if (bytes > 0) {
            out.part(part, part.readerIndex(), bytes);
            left -= bytes;
        }
        part.release();
        return left == 0;
    }

    /** Gives back what is held; may be called at any time and more than once. */
    public void release() {
        if (!headGone) {
            headGone = true;
            head.release();
        }
    }
}
