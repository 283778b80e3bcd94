package dev.isthmus.local.ort;

import ai.djl.util.cuda.CudaUtils;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtProvider;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What there is of CUDA in this process.
 *
 * @param built whether this build of ONNX Runtime has the provider; that its libraries load is another matter
 * @param devices the GPUs that the CUDA runtime counts; 0 too where that runtime is not found
 */
record Cuda(boolean built, int devices) {
    private static final Pattern LIBRARY = Pattern.compile("([\\w.+-]+): cannot open shared object file");
    private static final Pattern FAILURE = Pattern.compile("CUDA failure [0-9]+: [\\w ,.'-]+");
    private static final Pattern CUDAS = Pattern.compile("cuda|cublas|cudnn|curand|cufft", Pattern.CASE_INSENSITIVE);

    static Cuda found() {
        boolean built = OrtEnvironment.getAvailableProviders().contains(OrtProvider.CUDA);
        return new Cuda(built, built ? CudaUtils.getGpuCount() : 0);
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
        Matcher library = LIBRARY.matcher(said);
        if (library.find()) {
            return "the library " + library.group(1) + " is missing";
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
