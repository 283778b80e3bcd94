package dev.isthmus.local.ort;

import ai.onnxruntime.OrtSession;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.UnpooledDirectByteBuf;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The result of a run, open as long as someone reads from its memory: the run itself, and each view until it is released,
 * which may be on any thread. The model stays open with it.
 */
final class Held {
    private final OrtSession.Result result;
    private final OnnxModel model;
    private final AtomicInteger readers = new AtomicInteger(1);
    private boolean views;

    /** @param result taken: closed after the last release */
    Held(OrtSession.Result result, OnnxModel model) {
        this.result = result;
        this.model = model;
    }

    /** A buffer on memory of the result. Of the run's thread. */
    ByteBuf view(ByteBuffer memory, ByteBufAllocator allocator) {
        if (!views && !model.retain()) {
            throw new IllegalStateException("the model was closed under a run");
        }
        views = true;
        View view = new View(allocator, memory, this);
        readers.incrementAndGet();
        return view;
    }

    void release() {
        if (readers.decrementAndGet() == 0) {
            result.close();
            if (views) {
                model.releaseLate();
            }
        }
    }

    /** Releasing it lets go of the memory instead of freeing it. */
    private static final class View extends UnpooledDirectByteBuf {
        private final Held held;

        View(ByteBufAllocator allocator, ByteBuffer memory, Held held) {
            super(allocator, memory, memory.remaining());
            this.held = held;
        }

        @Override
        protected void deallocate() {
            super.deallocate();
            held.release();
        }
    }
}
