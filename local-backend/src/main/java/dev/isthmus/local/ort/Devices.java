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
 * Selects a model's device: {@code cpu}, {@code gpu:N}, or {@code auto}, which is the first GPU if CUDA works with the
 * model, else the CPU. Only opening a session shows whether a GPU works: a library may be missing, the driver too old,
 * or the memory used up.
 */
final class Devices {
    private static final Logger LOG = LoggerFactory.getLogger(Devices.class);
    private static final Pattern GPU = Pattern.compile("gpu:([0-9]{1,3})");

    /** Opens a model's session on a device. */
    @FunctionalInterface
    interface Opener {
        /**
         * Opens the session.
         *
         * @throws OrtException if the model or the device is not usable
         */
        OrtSession open(DevicePlacement placement) throws OrtException;
    }

    record PlacedSession(OrtSession session, DevicePlacement placement) {}

    private Devices() {}

    /**
     * Opens a session on the configured device.
     *
     * @param device {@code cpu}, {@code gpu:N} or {@code auto}
     * @throws OipException FAILED_PRECONDITION if {@code device} is none of these, or a GPU that is not available
     * @throws OrtException if the opener fails because of the model
     */
    static PlacedSession place(ModelRef model, String device, Opener opener) throws OrtException {
        return place(model, device, device.equals("cpu") ? Cuda.NOT_PROBED : Cuda.detect(), opener);
    }

    static PlacedSession place(ModelRef model, String device, Cuda cuda, Opener opener) throws OrtException {
        Matcher gpu = GPU.matcher(device);
        if (gpu.matches()) {
            return onGpu(Integer.parseInt(gpu.group(1)), cuda, opener);
        }
        return switch (device) {
            case "cpu" -> open(DevicePlacement.CPU, opener);
            case "auto" -> auto(model, cuda, opener);
            default ->
                throw new OipException(
                        ErrorCode.FAILED_PRECONDITION, "device '" + device + "': cpu, gpu:N or auto is expected");
        };
    }

    private static PlacedSession open(DevicePlacement placement, Opener opener) throws OrtException {
        return new PlacedSession(opener.open(placement), placement);
    }

    private static PlacedSession openOnGpu(int number, Cuda cuda, Opener opener) throws OrtException {
        cuda.requireCudnn();
        return open(DevicePlacement.gpu(number), opener);
    }

    private static PlacedSession onGpu(int number, Cuda cuda, Opener opener) throws OrtException {
        if (!cuda.built()) {
            throw unavailable(number, cuda, null);
        }
        try {
            return openOnGpu(number, cuda, opener);
        } catch (OrtException e) {
            if (Cuda.isCudaFailure(text(e))) {
                throw unavailable(number, cuda, e);
            }
            throw e;
        }
    }

    private static OipException unavailable(int number, Cuda cuda, @Nullable OrtException failure) {
        String missing = cuda.unavailableReason(number, failure == null ? null : text(failure));
        return new OipException(
                ErrorCode.FAILED_PRECONDITION, "device gpu:" + number + " is not available: " + missing, failure);
    }

    private static PlacedSession auto(ModelRef model, Cuda cuda, Opener opener) throws OrtException {
        if (!cuda.built()) {
            LOG.info("model {} runs on the CPU: {}", model, cuda.unavailableReason(0, null));
            return open(DevicePlacement.CPU, opener);
        }
        try {
            PlacedSession placed = openOnGpu(0, cuda, opener);
            LOG.info("model {} runs on {}", model, placed.placement());
            return placed;
        } catch (OrtException failure) {
            // A model that no device supports fails again, with its own reason.
            PlacedSession placed = open(DevicePlacement.CPU, opener);
            LOG.warn("model {} runs on the CPU: {}", model, cuda.unavailableReason(0, text(failure)));
            return placed;
        }
    }

    private static String text(OrtException e) {
        String text = e.getMessage();
        return text == null ? e.getCode().toString() : text;
    }
}
