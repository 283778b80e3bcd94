package dev.isthmus.local.ort;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtSession;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * Access to private parts of ONNX Runtime's Java API: the function table of the C API, a session's pointer, the
 * environment's handle. The only class with reflection. It fails if a member is missing; {@link SelfTest} checks
 * whether the library works.
 *
 * <p>Based on the sources of ONNX Runtime 1.29 ({@code OnnxRuntime}, {@code OrtSession}, {@code struct OrtApi}).
 */
@SuppressWarnings("restricted") // calls foreign functions
final class OrtAccess {
    private static final int LOG_WARNING = 2;
    private static final MethodHandle SESSION;
    private static final long API;
    private static final long ALLOCATOR;

    static {
        // Creating the environment loads the library.
        OrtEnvironment environment = OrtEnvironment.getEnvironment();
        try {
            MethodHandles.Lookup own = MethodHandles.lookup();
            SESSION = MethodHandles.privateLookupIn(OrtSession.class, own)
                    .findGetter(OrtSession.class, "nativeHandle", long.class);
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
            throw new IllegalStateException("this ONNX Runtime lacks members of version 1.29", e);
        }
    }

    private OrtAccess() {}

    /** The session's pointer in the C API, valid while it is open. */
    static long handle(OrtSession session) {
        try {
            return (long) SESSION.invokeExact(session);
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
     * @param slot the function's index in {@code struct OrtApi}, to which functions are only ever appended
     * @param type the signature, with long for pointers and sizes, int for enumerations
     */
    static MethodHandle function(int slot, MethodType type) {
        long address = NativeMemory.ALL.get(ValueLayout.JAVA_LONG, API + slot * ValueLayout.ADDRESS.byteSize());
        ValueLayout[] arguments =
                type.parameterList().stream().map(OrtAccess::layout).toArray(ValueLayout[]::new);
        FunctionDescriptor descriptor = type.returnType() == void.class
                ? FunctionDescriptor.ofVoid(arguments)
                : FunctionDescriptor.of(layout(type.returnType()), arguments);
        return Linker.nativeLinker().downcallHandle(MemorySegment.ofAddress(address), descriptor);
    }

    private static ValueLayout layout(Class<?> type) {
        return type == int.class ? ValueLayout.JAVA_INT : ValueLayout.JAVA_LONG;
    }

    /**
     * Adds a reference to the environment, of which there is one per process, so that it survives its release by the
     * Java API.
     *
     * @return whether the reference is to the same environment
     */
    static boolean retainEnvironment(OrtEnvironment environment) throws Throwable {
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
