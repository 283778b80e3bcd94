package dev.isthmus.local.ort;

import ai.djl.engine.Engine;
import ai.onnxruntime.OrtEnvironment;

/**
 * ONNX Runtime, started through DJL. DJL must come first: it makes the process's only environment, and fails where there is
 * one already. DJL calls home at its first use unless it is told that it is offline.
 */
final class OrtRuntime {
    private OrtRuntime() {}

    static OrtEnvironment environment() {
        if (System.getProperty("ai.djl.offline") == null) {
            System.setProperty("ai.djl.offline", "true");
        }
        // Sessions bring their own threads; the engine's global pools are not used.
        System.setProperty("ai.djl.onnxruntime.num_threads", "1");
        System.setProperty("ai.djl.onnxruntime.num_interop_threads", "1");
        DeepStack.call(() -> Engine.getEngine("OnnxRuntime"));
        OrtEnvironment environment = OrtEnvironment.getEnvironment();
        ProcessEnd.hold(environment);
        return environment;
    }
}
