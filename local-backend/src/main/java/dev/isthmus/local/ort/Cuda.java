package dev.isthmus.local.ort;

import ai.djl.util.cuda.CudaUtils;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtException.OrtErrorCode;
import ai.onnxruntime.OrtProvider;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The CUDA support in this process.
 *
 * @param built whether this build of ONNX Runtime has the CUDA provider; its libraries may still fail to load
 * @param devices the number of GPUs found by the CUDA runtime; 0 also if there is no CUDA runtime
 * @param loads whether the system can load a library of this name
 */
record Cuda(boolean built, int devices, Predicate<String> loads) {
    /** For sessions that run on the CPU anyway; CUDA is not probed. */
    static final Cuda NOT_PROBED = new Cuda(false, 0, library -> false);

    private static final String CUDNN = "libcudnn.so.9";
    private static final String NO_CUDNN = "cuDNN is not there";
    private static final Pattern NOT_LOADED =
            Pattern.compile("Failed to load library .* with error: (?:(\\S+): cannot open shared object file)?");
    private static final Pattern FAILURE = Pattern.compile("CUDA failure [0-9]+: [\\w ,.'-]+");
    private static final Pattern CUDAS = Pattern.compile("cuda|cublas|cudnn|curand|cufft", Pattern.CASE_INSENSITIVE);

    static Cuda detect() {
        boolean built = OrtEnvironment.getAvailableProviders().contains(OrtProvider.CUDA);
        return new Cuda(built, built ? CudaUtils.getGpuCount() : 0, Cuda::isThere);
    }

    @SuppressWarnings("restricted")
    private static boolean isThere(String library) {
        try (Arena arena = Arena.ofConfined()) {
            SymbolLookup.libraryLookup(library, arena);
            return true;
        } catch (IllegalArgumentException notFound) {
            return false;
        }
    }

    /**
     * Requires cuDNN. Sessions open without it, but then runs fail in convolutions, pooling and others.
     *
     * @throws OrtException if it is not there; {@link #unavailableReason} has the library's name
     */
    void requireCudnn() throws OrtException {
        if (!loads.test(CUDNN)) {
            throw new OrtException(OrtErrorCode.ORT_EP_FAIL, NO_CUDNN);
        }
    }

    /** Whether a session failed because of CUDA, not because of the model. */
    static boolean isCudaFailure(String failure) {
        return CUDAS.matcher(failure).find();
    }

    /**
     * Why a GPU is not available, for operators and without paths.
     *
     * @param failure ONNX Runtime's message, if a session was attempted
     */
    String unavailableReason(int gpu, @Nullable String failure) {
        if (!built) {
            return "this ONNX Runtime is built without CUDA; use the Maven profile gpu";
        }
        String message = failure == null ? "" : failure;
        if (message.contains(NO_CUDNN)) {
            return missing(CUDNN);
        }
        Matcher library = NOT_LOADED.matcher(message);
        if (library.find()) {
            return library.group(1) == null ? "the libraries of CUDA do not load" : missing(library.group(1));
        }
        if (devices > 0 && gpu >= devices) {
            return devices == 1 ? "the only GPU is gpu:0" : "the GPUs are gpu:0 to gpu:" + (devices - 1);
        }
        Matcher cause = FAILURE.matcher(message);
        if (cause.find()) {
            return cause.group().strip();
        }
        return devices == 0 ? "CUDA finds no GPU" : "CUDA does not start";
    }

    private static String missing(String library) {
        return "the library " + library + " is missing";
    }
}
