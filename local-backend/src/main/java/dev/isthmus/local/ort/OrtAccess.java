package dev.isthmus.local.ort;

import ai.onnxruntime.OnnxJavaType;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OnnxTensorLike;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.TensorInfo;
import ai.onnxruntime.TensorInfo.OnnxTensorType;
import dev.isthmus.oip.DataType;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.Buffer;
import java.nio.ByteBuffer;

/**
 * What ONNX Runtime can do and its Java API does not show: tensors of unsigned types, the memory of an output without a
 * copy, the environment once more, and the function table of the C API. The only class with reflection and foreign calls. Whether it works with the
 * library at hand is what {@link SelfTest} finds out; this class only says that something is not there.
 *
 * <p>Read for ONNX Runtime 1.29 ({@code OnnxTensor}, {@code struct OrtApi}).
 */
@SuppressWarnings("restricted") // foreign functions are what this class is for
final class OrtAccess {
    private static final int LOG_WARNING = 2;
    private static final ByteBuffer NOTHING = ByteBuffer.allocateDirect(Long.BYTES);
    private static final MethodHandle CREATE;
    private static final MethodHandle WRAP;
    private static final MethodHandle VIEW;
    private static final MethodHandle NATIVE_HANDLE;
    private static final MethodHandle DESCRIBE;
    private static final long API;
    private static final long ALLOCATOR;

    static {
        // The library is loaded by the environment, and only then has an API.
        OrtEnvironment environment = OrtEnvironment.getEnvironment();
        try {
            MethodHandles.Lookup own = MethodHandles.lookup();
            MethodHandles.Lookup tensor = MethodHandles.privateLookupIn(OnnxTensor.class, own);
            CREATE = tensor.findStatic(
                    OnnxTensor.class,
                    "createTensorFromBuffer",
                    MethodType.methodType(
                            long.class,
                            long.class,
                            long.class,
                            Buffer.class,
                            int.class,
                            long.class,
                            long[].class,
                            int.class));
            WRAP = tensor.findConstructor(
                    OnnxTensor.class,
                    MethodType.methodType(
                            void.class, long.class, long.class, TensorInfo.class, Buffer.class, boolean.class));
            VIEW = tensor.findVirtual(OnnxTensor.class, "getBuffer", MethodType.methodType(ByteBuffer.class));
            NATIVE_HANDLE = MethodHandles.privateLookupIn(OnnxTensorLike.class, own)
                    .findGetter(OnnxTensorLike.class, "nativeHandle", long.class);
            DESCRIBE = MethodHandles.privateLookupIn(TensorInfo.class, own)
                    .findConstructor(
                            TensorInfo.class,
                            MethodType.methodType(void.class, long[].class, OnnxJavaType.class, OnnxTensorType.class));
            Class<?> runtime = Class.forName("ai.onnxruntime.OnnxRuntime");
            API = (long) MethodHandles.privateLookupIn(runtime, own)
                    .findStaticGetter(runtime, "ortApiHandle", long.class)
                    .invoke();
            Class<?> allocator = Class.forName("ai.onnxruntime.OrtAllocator");
            Object defaultAllocator = MethodHandles.privateLookupIn(OrtEnvironment.class, own)
                    .findGetter(OrtEnvironment.class, "defaultAllocator", allocator)
                    .invoke(environment);
            ALLOCATOR = (long) MethodHandles.privateLookupIn(allocator, own)
                    .findGetter(allocator, "handle", long.class)
                    .invoke(defaultAllocator);
        } catch (Throwable e) {
            throw new IllegalStateException("this ONNX Runtime is not built as version 1.29 is", e);
        }
    }

    private OrtAccess() {}

    /** What a tensor of this type says of itself: only the type is true. It serves all tensors that are made here. */
    static TensorInfo info(DataType type) {
        OnnxTensorType onnx = OrtTypes.onnx(type);
        try {
            return (TensorInfo) DESCRIBE.invokeExact(new long[0], OnnxJavaType.mapFromOnnxTensorType(onnx), onnx);
        } catch (Throwable e) {
            throw rethrown(e);
        }
    }

    /**
     * A tensor on this memory, of any type but BYTES.
     *
     * @param bytes direct; from position to limit the tensor's elements; must stay until the tensor is closed
     */
    static OnnxTensor tensor(ByteBuffer bytes, long[] shape, TensorInfo info) throws OrtException {
        int size = bytes.remaining();
        // An empty buffer may have no address.
        ByteBuffer memory = size == 0 ? NOTHING : bytes;
        int at = size == 0 ? 0 : bytes.position();
        try {
            long handle = (long)
                    CREATE.invokeExact(API, ALLOCATOR, (Buffer) memory, at, (long) size, shape, info.onnxType.value);
            return wrap(handle, info, memory);
        } catch (OrtException e) {
            throw e;
        } catch (Throwable e) {
            throw rethrown(e);
        }
    }

    /** A value of the C API as the Java API's. Taken: closing the tensor releases it. */
    static OnnxTensor wrap(long handle, TensorInfo info, ByteBuffer memory) {
        try {
            return (OnnxTensor) WRAP.invokeExact(handle, ALLOCATOR, info, (Buffer) memory, false);
        } catch (Throwable e) {
            throw rethrown(e);
        }
    }

    static OnnxTensor wrap(long handle, TensorInfo info) {
        return wrap(handle, info, NOTHING);
    }

    /** The memory of a tensor that is not of BYTES, as long as the tensor is open. */
    static ByteBuffer view(OnnxTensor tensor) {
        try {
            return (ByteBuffer) VIEW.invokeExact(tensor);
        } catch (Throwable e) {
            throw rethrown(e);
        }
    }

    /** The tensor's pointer in the C API. */
    static long handle(OnnxTensorLike tensor) {
        try {
            return (long) NATIVE_HANDLE.invokeExact(tensor);
        } catch (Throwable e) {
            throw rethrown(e);
        }
    }

    /** The pointer of the environment's allocator. */
    static long allocator() {
        return ALLOCATOR;
    }

    /**
     * A function of the C API.
     *
     * @param slot its place in {@code struct OrtApi}, to which functions are only ever appended
     * @param type with long for pointers and sizes
     */
    static MethodHandle function(int slot, MethodType type) {
        long address = Memory.ALL.get(ValueLayout.JAVA_LONG, API + slot * ValueLayout.ADDRESS.byteSize());
        FunctionDescriptor descriptor = type.returnType() == void.class
                ? FunctionDescriptor.ofVoid(layouts(type))
                : FunctionDescriptor.of(ValueLayout.JAVA_LONG, layouts(type));
        return Linker.nativeLinker().downcallHandle(MemorySegment.ofAddress(address), descriptor);
    }

    private static ValueLayout[] layouts(MethodType type) {
        return type.parameterList().stream()
                .map(each -> each == int.class ? ValueLayout.JAVA_INT : ValueLayout.JAVA_LONG)
                .toArray(ValueLayout[]::new);
    }

    /**
     * Asks for the environment, of which there is one, once more, so that it stays when the Java API lets go of it.
     *
     * @return whether that was the same
     */
    static boolean holdOnceMore(OrtEnvironment environment) throws Throwable {
        MethodHandles.Lookup inside = MethodHandles.privateLookupIn(OrtEnvironment.class, MethodHandles.lookup());
        MethodType type = MethodType.methodType(long.class, long.class, int.class, String.class);
        long again = (long)
                inside.findStatic(OrtEnvironment.class, "createHandle", type).invoke(API, LOG_WARNING, "isthmus");
        return again
                == (long) inside.findGetter(OrtEnvironment.class, "nativeHandle", long.class)
                        .invoke(environment);
    }

    static RuntimeException rethrown(Throwable e) {
        if (e instanceof Error error) {
            throw error;
        }
        return e instanceof RuntimeException known ? known : new IllegalStateException(e);
    }
}
