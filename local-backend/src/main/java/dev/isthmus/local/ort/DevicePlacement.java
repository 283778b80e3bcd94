package dev.isthmus.local.ort;

import ai.djl.Device;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtProvider;
import ai.onnxruntime.OrtSession;
import dev.isthmus.oip.Parameter;
import java.util.LinkedHashMap;
import java.util.Map;

/** The device of a session, in the terms of DJL and of ONNX Runtime. */
record DevicePlacement(Device device) {
    static final DevicePlacement CPU = new DevicePlacement(Device.cpu());

    static DevicePlacement gpu(int number) {
        return new DevicePlacement(Device.gpu(number));
    }

    OrtProvider provider() {
        return device.isGpu() ? OrtProvider.CUDA : OrtProvider.CPU;
    }

    /** Adds the device to a session's options; the CPU is the default. */
    void addTo(OrtSession.SessionOptions options) throws OrtException {
        if (device.isGpu()) {
            options.addCUDA(device.getDeviceId());
        }
    }

    /**
     * Parameters for the model's metadata: {@code provider} in ONNX Runtime's terms, {@code device} in the
     * configuration's.
     */
    Map<String, Parameter> parameters() {
        Map<String, Parameter> parameters = new LinkedHashMap<>();
        parameters.put("provider", new Parameter.Text(provider().getName()));
        parameters.put("device", new Parameter.Text(toString()));
        return parameters;
    }

    /** As in the configuration: {@code cpu} or {@code gpu:0}. */
    @Override
    public String toString() {
        return device.isGpu() ? "gpu:" + device.getDeviceId() : "cpu";
    }
}
