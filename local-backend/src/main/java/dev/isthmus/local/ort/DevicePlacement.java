package dev.isthmus.local.ort;

import ai.djl.Device;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtProvider;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.providers.OrtCUDAProviderOptions;
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

    /**
     * Adds the device to a session's options; the CPU is the default. ONNX Runtime selects an algorithm for each
     * convolution whenever the input's shape changes: by cuDNN's heuristics, because measuring all of them takes longer.
     */
    void addTo(OrtSession.SessionOptions options) throws OrtException {
        if (device.isGpu()) {
            try (OrtCUDAProviderOptions cuda = new OrtCUDAProviderOptions(device.getDeviceId())) {
                cuda.add("cudnn_conv_algo_search", "HEURISTIC");
                options.addCUDA(cuda);
            }
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
