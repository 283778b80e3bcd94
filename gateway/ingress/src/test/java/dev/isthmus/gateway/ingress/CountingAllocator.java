package dev.isthmus.gateway.ingress;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledDirectByteBuf;
import io.netty.buffer.UnpooledHeapByteBuf;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Counts the bytes that are copied in bulk from or to its buffers, by the class that copies them. Socket reads and
 * writes are not copies.
 */
public final class CountingAllocator extends AbstractByteBufAllocator {
    private static final StackWalker STACK = StackWalker.getInstance();

    private final Map<String, Long> copied = new ConcurrentHashMap<>();
    /** Whether the thread is in a counted copy, which may consist of nested ones. */
    private final ThreadLocal<Boolean> within = ThreadLocal.withInitial(() -> false);

    public CountingAllocator() {
        super(true);
    }

    /** Returns the copied bytes by class, and resets them. */
    public Map<String, Long> take() {
        Map<String, Long> taken = new TreeMap<>(copied);
        copied.clear();
        return taken;
    }

    private void count(int bytes, Copy copy) {
        if (within.get()) {
            copy.run();
            return;
        }
        within.set(true);
        try {
            copied.merge(caller(), (long) bytes, Long::sum);
            copy.run();
        } finally {
            within.set(false);
        }
    }

    private static String caller() {
        return STACK.walk(frames -> frames.map(StackWalker.StackFrame::getClassName)
                .filter(name ->
                        !name.startsWith("io.netty.buffer.") && !name.startsWith(CountingAllocator.class.getName()))
                .findFirst()
                .orElse("?"));
    }

    /** A copy between buffers; it may throw. */
    @FunctionalInterface
    private interface Copy {
        void run();
    }

    @Override
    protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
        return new Heap(initialCapacity, maxCapacity);
    }

    @Override
    protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
        return toLeakAwareBuffer(new Direct(initialCapacity, maxCapacity));
    }

    @Override
    public boolean isDirectBufferPooled() {
        return false;
    }

    private final class Heap extends UnpooledHeapByteBuf {
        Heap(int initialCapacity, int maxCapacity) {
            super(CountingAllocator.this, initialCapacity, maxCapacity);
        }

        @Override
        public ByteBuf getBytes(int index, ByteBuf to, int toIndex, int length) {
            count(length, () -> super.getBytes(index, to, toIndex, length));
            return this;
        }

        @Override
        public ByteBuf getBytes(int index, byte[] to, int toIndex, int length) {
            count(length, () -> super.getBytes(index, to, toIndex, length));
            return this;
        }

        @Override
        public ByteBuf getBytes(int index, ByteBuffer to) {
            count(to.remaining(), () -> super.getBytes(index, to));
            return this;
        }

        @Override
        public ByteBuf setBytes(int index, ByteBuf from, int fromIndex, int length) {
            count(length, () -> super.setBytes(index, from, fromIndex, length));
            return this;
        }

        @Override
        public ByteBuf setBytes(int index, byte[] from, int fromIndex, int length) {
            count(length, () -> super.setBytes(index, from, fromIndex, length));
            return this;
        }

        @Override
        public ByteBuf setBytes(int index, ByteBuffer from) {
            count(from.remaining(), () -> super.setBytes(index, from));
            return this;
        }
    }

    private final class Direct extends UnpooledDirectByteBuf {
        Direct(int initialCapacity, int maxCapacity) {
            super(CountingAllocator.this, initialCapacity, maxCapacity);
        }

        @Override
        public ByteBuf capacity(int capacity) {
            count(writerIndex(), () -> super.capacity(capacity));
            return this;
        }

        @Override
        public ByteBuf copy(int index, int length) {
            ByteBuf copy = alloc().directBuffer(length, maxCapacity());
            return copy.writeBytes(this, index, length);
        }

        @Override
        public ByteBuf getBytes(int index, ByteBuf to, int toIndex, int length) {
            count(length, () -> super.getBytes(index, to, toIndex, length));
            return this;
        }

        @Override
        public ByteBuf getBytes(int index, byte[] to, int toIndex, int length) {
            count(length, () -> super.getBytes(index, to, toIndex, length));
            return this;
        }

        @Override
        public ByteBuf getBytes(int index, ByteBuffer to) {
            count(to.remaining(), () -> super.getBytes(index, to));
            return this;
        }

        @Override
        public ByteBuf getBytes(int index, OutputStream to, int length) throws IOException {
            byte[] bytes = new byte[length];
            getBytes(index, bytes, 0, length);
            to.write(bytes);
            return this;
        }

        @Override
        public ByteBuf readBytes(byte[] to, int toIndex, int length) {
            count(length, () -> super.readBytes(to, toIndex, length));
            return this;
        }

        @Override
        public ByteBuf readBytes(ByteBuffer to) {
            count(to.remaining(), () -> super.readBytes(to));
            return this;
        }

        @Override
        public ByteBuf readBytes(OutputStream to, int length) throws IOException {
            getBytes(readerIndex(), to, length);
            return skipBytes(length);
        }

        @Override
        public ByteBuf setBytes(int index, ByteBuf from, int fromIndex, int length) {
            count(length, () -> super.setBytes(index, from, fromIndex, length));
            return this;
        }

        @Override
        public ByteBuf setBytes(int index, byte[] from, int fromIndex, int length) {
            count(length, () -> super.setBytes(index, from, fromIndex, length));
            return this;
        }

        @Override
        public ByteBuf setBytes(int index, ByteBuffer from) {
            count(from.remaining(), () -> super.setBytes(index, from));
            return this;
        }
    }
}
