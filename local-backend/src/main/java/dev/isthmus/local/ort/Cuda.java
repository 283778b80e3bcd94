package dev.isthmus.local.ort;

import ai.djl.util.cuda.CudaUtils;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtException.OrtErrorCode;
import ai.onnxruntime.OrtProvider;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The CUDA support in this process.
 *
 * @param built whether this build of ONNX Runtime has the CUDA provider; its libraries may still fail to load
 * @param devices the number of GPUs found by the CUDA runtime; 0 also if there is no CUDA runtime
 * @param cudnn whether a library of cuDNN of this name is there
 */
record Cuda(boolean built, int devices, Predicate<String> cudnn) {
    /** For sessions that run on the CPU anyway; CUDA is not probed. */
    static final Cuda NOT_PROBED = new Cuda(false, 0, library -> false);

    private static final String CUDNN = "libcudnn.so.9";

    /** Loaded by cuDNN when it is needed; without it the process ends. */
    private static final String GRAPHS = "libcudnn_graph.so.9";
    /** Without either of them opening sessions succeeds and runs fail. */
    private static final List<String> ENGINES =
            List.of("libcudnn_engines_precompiled.so.9", "libcudnn_engines_runtime_compiled.so.9");

    private static final Pattern NO_CUDNN = Pattern.compile("cuDNN is not complete: (\\S+)");
    private static final Pattern NOT_LOADED =
            Pattern.compile("Failed to load library .* with error: (?:(\\S+): cannot open shared object file)?");
    private static final Pattern FAILURE = Pattern.compile("CUDA failure [0-9]+: [\\w ,.'-]+");
    private static final Pattern CUDAS = Pattern.compile("cuda|cublas|cudnn|curand|cufft", Pattern.CASE_INSENSITIVE);

    static Cuda detect() {
        boolean built = OrtEnvironment.getAvailableProviders().contains(OrtProvider.CUDA);
        if (!built) {
            return NOT_PROBED;
        }
        int devices = CudaUtils.getGpuCount();
        // Its parts are only looked for: loaded and unloaded, they crashed cuDNN while other sessions opened.
        Optional<SystemLibrary> cudnn = SystemLibrary.find(CUDNN, "cudnnGetVersion");
        return new Cuda(
                true,
                devices,
                library -> cudnn.filter(found -> library.equals(CUDNN) || found.hasBeside(library))
                        .isPresent());
    }

    /**
     * Requires cuDNN, before a session is opened. Sessions open without it, but then runs fail in convolutions, pooling
     * and others; with a part of it, opening one may end the process.
     *
     * @throws OrtException if a library is missing; {@link #unavailableReason} has its name
     */
    void requireCudnn() throws OrtException {
        for (String library : List.of(CUDNN, GRAPHS)) {
            require(cudnn.test(library), library);
        }
        require(ENGINES.stream().anyMatch(cudnn), ENGINES.getFirst());
    }

    private static void require(boolean there, String library) throws OrtException {
        if (!there) {
            throw new OrtException(OrtErrorCode.ORT_EP_FAIL, "cuDNN is not complete: " + library);
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
        Matcher incomplete = NO_CUDNN.matcher(message);
        if (incomplete.find()) {
            return missing(incomplete.group(1));
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
