package dev.isthmus.local.ort;

import ai.onnxruntime.OrtException;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.Shape;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodType;
import java.nio.ByteOrder;

/**
 * BYTES tensors through the C API, which keeps every byte. The Java API converts strings through modified UTF-8, which
 * changes characters outside the basic plane, ends at a NUL, and is undefined for bytes that are not UTF-8.
 */
final class OrtStrings {
    private static final int CREATE_TENSOR_AS_ORT_VALUE = 48;
    private static final int GET_STRING_TENSOR_DATA_LENGTH = 53;
    private static final int GET_STRING_TENSOR_CONTENT = 54;
    private static final int GET_RESIZED_STRING_TENSOR_ELEMENT_BUFFER = 252;

    private static final MethodHandle CREATE = OrtAccess.function(
            CREATE_TENSOR_AS_ORT_VALUE,
            MethodType.methodType(long.class, long.class, long.class, long.class, int.class, long.class));
    private static final MethodHandle LENGTH = OrtAccess.function(
            GET_STRING_TENSOR_DATA_LENGTH, MethodType.methodType(long.class, long.class, long.class));
    private static final MethodHandle CONTENT = OrtAccess.function(
            GET_STRING_TENSOR_CONTENT,
            MethodType.methodType(long.class, long.class, long.class, long.class, long.class, long.class));
    private static final MethodHandle ELEMENT = OrtAccess.function(
            GET_RESIZED_STRING_TENSOR_ELEMENT_BUFFER,
            MethodType.methodType(long.class, long.class, long.class, long.class, long.class));

    private static final ValueLayout.OfInt PREFIX = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int STRING = OrtTypes.number(DataType.BYTES);

    private OrtStrings() {}

    /**
     * Creates a tensor with a copy of these elements, owned by the caller.
     *
     * @param start the address of the elements, each after its length; checked to match the shape
     */
    static long tensor(long start, int bytes, Shape shape) throws OrtException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(ValueLayout.JAVA_LONG);
            MemorySegment extents = arena.allocateFrom(ValueLayout.JAVA_LONG, shape.toArray());
            OrtApi.require((long) CREATE.invokeExact(
                    OrtAccess.allocator(), extents.address(), (long) shape.rank(), STRING, out.address()));
            long tensor = out.get(ValueLayout.JAVA_LONG, 0);
            try {
                fill(tensor, NativeMemory.ALL.asSlice(start, bytes), out);
                return tensor;
            } catch (Throwable e) {
                OrtApi.release(tensor);
                throw e;
            }
        } catch (Throwable e) {
            throw OrtApi.failure(e);
        }
    }

    private static void fill(long tensor, MemorySegment elements, MemorySegment out) throws Throwable {
        long at = 0;
        for (long i = 0; at < elements.byteSize(); i++) {
            long length = Integer.toUnsignedLong(elements.get(PREFIX, at));
            OrtApi.require((long) ELEMENT.invokeExact(tensor, i, length, out.address()));
            long to = out.get(ValueLayout.JAVA_LONG, 0);
            MemorySegment.copy(elements, at + PREFIX.byteSize(), NativeMemory.ALL, to, length);
            at += PREFIX.byteSize() + length;
        }
    }

    /**
     * The elements of a tensor, each after its length.
     *
     * @param tensor borrowed
     * @return owned by the caller
     */
    static ByteBuf elements(long tensor, Shape shape, ByteBufAllocator allocator) throws OrtException {
        int count = Math.toIntExact(shape.elementCount());
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment scratch = arena.allocate(ValueLayout.JAVA_LONG, Math.max(1, count));
            OrtApi.require((long) LENGTH.invokeExact(tensor, scratch.address()));
            long length = scratch.get(ValueLayout.JAVA_LONG, 0);
            int size = Math.toIntExact(length + PREFIX.byteSize() * count);
            ByteBuf data = allocator.directBuffer(Math.max(1, size));
            try {
                interleave(tensor, count, length, MemorySegment.ofBuffer(data.nioBuffer(0, size)), scratch);
                return data.writerIndex(size);
            } catch (Throwable e) {
                data.release();
                throw e;
            }
        } catch (Throwable e) {
            throw OrtApi.failure(e);
        }
    }

    /**
     * Reads the content, which is contiguous, into the end of the memory, then moves each element after its length. No
     * move overwrites an element not yet moved.
     */
    private static void interleave(long tensor, int count, long length, MemorySegment to, MemorySegment offsets)
            throws Throwable {
        if (count == 0) {
            return;
        }
        long prefixes = PREFIX.byteSize() * count;
        OrtApi.require(
                (long) CONTENT.invokeExact(tensor, to.address() + prefixes, length, offsets.address(), (long) count));
        for (int i = 0; i < count; i++) {
            long from = offsets.getAtIndex(ValueLayout.JAVA_LONG, i);
            long end = i + 1 < count ? offsets.getAtIndex(ValueLayout.JAVA_LONG, i + 1) : length;
            long at = PREFIX.byteSize() * i + from;
            MemorySegment.copy(to, prefixes + from, to, at + PREFIX.byteSize(), end - from);
            to.set(PREFIX, at, Math.toIntExact(end - from));
        }
    }
}
