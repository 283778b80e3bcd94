package dev.isthmus.local.ort;

import ai.djl.util.cuda.CudaUtils;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtProvider;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What there is of CUDA in this process.
 *
 * @param built whether this build of ONNX Runtime has the provider; that its libraries load is another matter
 * @param devices the GPUs that the CUDA runtime counts; 0 too where that runtime is not found
 * @param loads whether the system finds a library of this name
 */
record Cuda(boolean built, int devices, Predicate<String> loads) {
    /** For what runs on the CPU in any case. */
    static final Cuda UNASKED = new Cuda(false, 0, library -> false);

    /** What the provider's library asks of the system, in Linux' names: the driver's, and those of CUDA 12. */
    private static final List<String> NEEDED =
            List.of("libcuda.so.1", "libcudart.so.12", "libcublas.so.12", "libcublasLt.so.12", "libcurand.so.10");

    private static final String NOT_LOADED = "Failed to load shared library";
    private static final Pattern FAILURE = Pattern.compile("CUDA failure [0-9]+: [\\w ,.'-]+");
    private static final Pattern CUDAS = Pattern.compile("cuda|cublas|cudnn|curand|cufft", Pattern.CASE_INSENSITIVE);

    static Cuda found() {
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

    /** Whether a session was refused for CUDA's sake, and not for the model's. */
    static boolean concerns(String failure) {
        return CUDAS.matcher(failure).find();
    }

    /**
     * Why a GPU cannot be had, in words for an operator and without paths.
     *
     * @param failure what ONNX Runtime said, if it was asked
     */
    String missing(int gpu, @Nullable String failure) {
        if (!built) {
            return "this ONNX Runtime is built without CUDA; the Maven profile gpu brings one with it";
        }
        String said = failure == null ? "" : failure;
        if (said.contains(NOT_LOADED)) {
            List<String> absent = NEEDED.stream().filter(loads.negate()).toList();
            return absent.isEmpty() ? "the libraries of CUDA do not load" : "libraries are missing: " + absent;
        }
        if (devices > 0 && gpu >= devices) {
            return devices == 1 ? "the only GPU is gpu:0" : "the GPUs are gpu:0 to gpu:" + (devices - 1);
        }
        Matcher cause = FAILURE.matcher(said);
        if (cause.find()) {
            return cause.group().strip();
        }
        return devices == 0 ? "CUDA finds no GPU" : "CUDA does not start";
    }
}
