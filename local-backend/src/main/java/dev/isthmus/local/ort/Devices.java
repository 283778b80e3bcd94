package dev.isthmus.local.ort;

import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Chooses where a model runs: {@code cpu}, {@code gpu:N}, or {@code auto}, the first GPU where CUDA works with the model and
 * the CPU otherwise. That a GPU works is known when a session on it was opened, and not before: a library may be missing, a
 * driver too old, the memory taken.
 */
final class Devices {
    private static final Logger LOG = LoggerFactory.getLogger(Devices.class);
    private static final Pattern GPU = Pattern.compile("gpu:([0-9]{1,3})");

    /** Opens a model's session in a place. */
    @FunctionalInterface
    interface Opener {
        /**
         * The session, there.
         *
         * @throws OrtException where the model, or the place, is not to be had
         */
        OrtSession open(DevicePlacement placement) throws OrtException;
    }

    /** A session, and where it runs. */
    record Placed(OrtSession session, DevicePlacement placement) {}

    private Devices() {}

    /**
     * Opens a session where it is asked for.
     *
     * @param device {@code cpu}, {@code gpu:N} or {@code auto}
     * @throws OipException FAILED_PRECONDITION where {@code device} is none of these, or is a GPU that cannot be had
     * @throws OrtException what the opener said of the model
     */
    static Placed place(ModelRef model, String device, Opener opener) throws OrtException {
        return place(model, device, device.equals("cpu") ? Cuda.UNASKED : Cuda.found(), opener);
    }

    static Placed place(ModelRef model, String device, Cuda cuda, Opener opener) throws OrtException {
        Matcher gpu = GPU.matcher(device);
        if (gpu.matches()) {
            return onGpu(Integer.parseInt(gpu.group(1)), cuda, opener);
        }
        return switch (device) {
            case "cpu" -> open(DevicePlacement.CPU, opener);
            case "auto" -> anywhere(model, cuda, opener);
            default ->
                throw new OipException(
                        ErrorCode.FAILED_PRECONDITION, "device '" + device + "': cpu, gpu:N or auto is expected");
        };
    }

    private static Placed open(DevicePlacement placement, Opener opener) throws OrtException {
        return new Placed(opener.open(placement), placement);
    }

    private static Placed onGpu(int number, Cuda cuda, Opener opener) throws OrtException {
        if (!cuda.built()) {
            throw unavailable(number, cuda, null);
        }
        try {
            return open(DevicePlacement.gpu(number), opener);
        } catch (OrtException e) {
            if (Cuda.concerns(text(e))) {
                throw unavailable(number, cuda, e);
            }
            throw e;
        }
    }

    private static OipException unavailable(int number, Cuda cuda, @Nullable OrtException failure) {
        String missing = cuda.missing(number, failure == null ? null : text(failure));
        return new OipException(
                ErrorCode.FAILED_PRECONDITION, "device gpu:" + number + " cannot be had: " + missing, failure);
    }

    private static Placed anywhere(ModelRef model, Cuda cuda, Opener opener) throws OrtException {
        if (!cuda.built()) {
            LOG.info("model {} runs on the CPU: {}", model, cuda.missing(0, null));
            return open(DevicePlacement.CPU, opener);
        }
        try {
            Placed placed = open(DevicePlacement.gpu(0), opener);
            LOG.info("model {} runs on {}", model, placed.placement());
            return placed;
        } catch (OrtException failure) {
            // A model that no device takes fails again, with a reason of its own.
            Placed placed = open(DevicePlacement.CPU, opener);
            LOG.warn("model {} runs on the CPU: {}", model, cuda.missing(0, text(failure)), failure);
            return placed;
        }
    }

    private static String text(OrtException e) {
        String text = e.getMessage();
        return text == null ? e.getCode().toString() : text;
    }
}
