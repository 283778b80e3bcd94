package dev.isthmus.local.ort;

import ai.djl.engine.Engine;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import dev.isthmus.oip.DataType;
import java.nio.ByteBuffer;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * ONNX Runtime, started through DJL, once in the process. DJL must come first: it makes the process's only environment, and
 * fails where there is one already. DJL calls home at its first use unless it is told that it is offline.
 *
 * @param exact the datatypes that come through byte for byte
 * @param access whether {@link OrtAccess} works here; without it outputs are copied, and some datatypes are not exact
 */
record OrtRuntime(OrtEnvironment environment, Set<DataType> exact, boolean access) {
    private static final Logger LOG = LoggerFactory.getLogger(OrtRuntime.class);

    /** Made by whoever needs it first. */
    private static final class Started {
        static final OrtRuntime RUNTIME = start();
    }

    static OrtRuntime get() {
        return Started.RUNTIME;
    }

    private static OrtRuntime start() {
        OrtJar.requireOne(OrtRuntime.class.getClassLoader());
        if (System.getProperty("ai.djl.offline") == null) {
            System.setProperty("ai.djl.offline", "true");
        }
        // Sessions bring their own threads; the engine's global pools are not used.
        System.setProperty("ai.djl.onnxruntime.num_threads", "1");
        System.setProperty("ai.djl.onnxruntime.num_interop_threads", "1");
        DeepStack.call(() -> Engine.getEngine("OnnxRuntime"));
        OrtEnvironment environment = OrtEnvironment.getEnvironment();
        ProcessEnd.hold(environment);
        OrtRuntime tested = SelfTest.run(environment);
        LOG.info("ONNX Runtime {}: {} datatypes", environment.getVersion(), tested.exact.size());
        return tested;
    }

    /** ONNX Runtime's version. DJL names another: the one that it was built with. */
    String version() {
        return environment.getVersion();
    }

    /**
     * A tensor on this memory.
     *
     * @param bytes direct; from position to limit the tensor's elements; must stay until the tensor is closed
     * @param port of an exact datatype that is not BYTES
     */
    OnnxTensor tensor(ByteBuffer bytes, long[] shape, Port port) throws OrtException {
        return access
                ? OrtAccess.tensor(bytes, shape, port.onnx())
                : OnnxTensor.createTensor(environment, bytes, shape, port.onnx().type);
    }

    /** The elements of a tensor that is not of BYTES: as long as it is open, and copied where there is no access. */
    ByteBuffer elements(OnnxTensor tensor) {
        return access ? OrtAccess.view(tensor) : tensor.getByteBuffer();
    }
}
