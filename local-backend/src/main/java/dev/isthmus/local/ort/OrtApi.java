package dev.isthmus.local.ort;

import ai.onnxruntime.OrtException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodType;
import java.util.Collections;

/**
 * The functions of ONNX Runtime's C API that a run needs. Arguments and results are pointers; {@code out} is the
 * address of the result. A failed status is converted to an OrtException with its code and released.
 *
 * <p>Runs bypass the Java API, which creates objects for each tensor and result and copies names at each run.
 */
final class OrtApi {
    /** The first minor version of 1.x with all of these functions. */
    static final int SINCE_MINOR = 24;

    // Indices in struct OrtApi of onnxruntime_c_api.h, ORT_API_VERSION 29.
    private static final int GET_ERROR_CODE = 1;
    private static final int GET_ERROR_MESSAGE = 2;
    private static final int RUN = 9;
    private static final int CREATE_RUN_OPTIONS = 39;
    private static final int RUN_OPTIONS_SET_TERMINATE = 46;
    private static final int CREATE_TENSOR_WITH_DATA_AS_ORT_VALUE = 49;
    private static final int GET_TENSOR_MUTABLE_DATA = 51;
    private static final int CREATE_CPU_MEMORY_INFO = 69;
    private static final int RELEASE_STATUS = 93;
    private static final int RELEASE_VALUE = 96;
    private static final int RELEASE_RUN_OPTIONS = 97;
    private static final int GET_TENSOR_ELEMENT_TYPE_AND_SHAPE_DATA_REFERENCE = 414;

    private static final int DEVICE_ALLOCATOR = 0;
    private static final int DEFAULT_MEMORY = 0;

    private static final MethodHandle CODE = OrtAccess.function(GET_ERROR_CODE, type(int.class, long.class));
    private static final MethodHandle MESSAGE = OrtAccess.function(GET_ERROR_MESSAGE, type(long.class, long.class));
    private static final MethodHandle FREE_STATUS = OrtAccess.function(RELEASE_STATUS, type(void.class, long.class));
    private static final MethodHandle START =
            OrtAccess.function(RUN, MethodType.methodType(long.class, Collections.nCopies(8, long.class)));
    private static final MethodHandle OPTIONS = OrtAccess.function(CREATE_RUN_OPTIONS, type(long.class, long.class));
    private static final MethodHandle TERMINATE =
            OrtAccess.function(RUN_OPTIONS_SET_TERMINATE, type(long.class, long.class));
    private static final MethodHandle FREE_OPTIONS =
            OrtAccess.function(RELEASE_RUN_OPTIONS, type(void.class, long.class));
    private static final MethodHandle TENSOR = OrtAccess.function(
            CREATE_TENSOR_WITH_DATA_AS_ORT_VALUE,
            type(long.class, long.class, long.class, long.class, long.class, long.class, int.class, long.class));
    private static final MethodHandle DATA =
            OrtAccess.function(GET_TENSOR_MUTABLE_DATA, type(long.class, long.class, long.class));
    private static final MethodHandle DESCRIBE = OrtAccess.function(
            GET_TENSOR_ELEMENT_TYPE_AND_SHAPE_DATA_REFERENCE,
            type(long.class, long.class, long.class, long.class, long.class));
    private static final MethodHandle FREE_VALUE = OrtAccess.function(RELEASE_VALUE, type(void.class, long.class));
    private static final long MEMORY = memory();

    private OrtApi() {}

    private static MethodType type(Class<?> result, Class<?>... arguments) {
        return MethodType.methodType(result, arguments);
    }

    /** The OrtMemoryInfo of CPU memory; never released. */
    private static long memory() {
        MethodHandle create =
                OrtAccess.function(CREATE_CPU_MEMORY_INFO, type(long.class, int.class, int.class, long.class));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(ValueLayout.JAVA_LONG);
            require((long) create.invokeExact(DEVICE_ALLOCATOR, DEFAULT_MEMORY, out.address()));
            return out.get(ValueLayout.JAVA_LONG, 0);
        } catch (Throwable e) {
            throw OrtAccess.rethrown(e);
        }
    }

    /** Runs a session. Outputs that are 0 are created by ONNX Runtime and owned by the caller. */
    static void run(NativeSession graph, long options, NativeArguments arguments, int outputs) throws OrtException {
        try {
            require((long) START.invokeExact(
                    graph.session(),
                    options,
                    graph.inputNames(),
                    arguments.inputs(),
                    (long) graph.inputs(),
                    arguments.outputNames(),
                    (long) outputs,
                    arguments.outputs()));
        } catch (Throwable e) {
            throw failure(e);
        }
    }

    /**
     * Creates a tensor on the caller's memory, which must stay valid until the tensor is released.
     *
     * @param shape the address of its extents
     * @param type the type's number as in ONNX's files
     */
    static long tensor(long memory, long bytes, long shape, int rank, int type, long out) throws OrtException {
        try {
            require((long) TENSOR.invokeExact(MEMORY, memory, bytes, shape, (long) rank, type, out));
            return NativeMemory.ALL.get(ValueLayout.JAVA_LONG, out);
        } catch (Throwable e) {
            throw failure(e);
        }
    }

    /** The address of the elements of a tensor other than BYTES, valid until it is released. */
    static long data(long value, long out) throws OrtException {
        try {
            require((long) DATA.invokeExact(value, out));
            return NativeMemory.ALL.get(ValueLayout.JAVA_LONG, out);
        } catch (Throwable e) {
            throw failure(e);
        }
    }

    /**
     * Describes a tensor.
     *
     * @param type the address for the type's number as in ONNX's files, an int
     * @param shape the address for the pointer to the extents, which the value owns
     * @param rank the address for the number of extents
     */
    static void describe(long value, long type, long shape, long rank) throws OrtException {
        try {
            require((long) DESCRIBE.invokeExact(value, type, shape, rank));
        } catch (Throwable e) {
            throw failure(e);
        }
    }

    static void release(long value) {
        try {
            FREE_VALUE.invokeExact(value);
        } catch (Throwable e) {
            throw OrtAccess.rethrown(e);
        }
    }

    /** Creates the options of a run. */
    static long options(long out) throws OrtException {
        try {
            require((long) OPTIONS.invokeExact(out));
            return NativeMemory.ALL.get(ValueLayout.JAVA_LONG, out);
        } catch (Throwable e) {
            throw failure(e);
        }
    }

    /** Terminates current and future runs with these options. Thread-safe. */
    static void terminate(long options) throws OrtException {
        try {
            require((long) TERMINATE.invokeExact(options));
        } catch (Throwable e) {
            throw failure(e);
        }
    }

    static void releaseOptions(long options) {
        try {
            FREE_OPTIONS.invokeExact(options);
        } catch (Throwable e) {
            throw OrtAccess.rethrown(e);
        }
    }

    /** @param status taken; 0 for success */
    static void require(long status) throws Throwable {
        if (status == 0) {
            return;
        }
        int code = (int) CODE.invokeExact(status);
        String message = NativeMemory.ALL.getString((long) MESSAGE.invokeExact(status));
        FREE_STATUS.invokeExact(status);
        throw new OrtException(code, message);
    }

    /** The OrtException that a call threw; rethrows any other exception. */
    static OrtException failure(Throwable e) {
        if (e instanceof OrtException known) {
            return known;
        }
        throw OrtAccess.rethrown(e);
    }
}
