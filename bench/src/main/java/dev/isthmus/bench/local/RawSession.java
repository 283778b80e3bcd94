package dev.isthmus.bench.local;

import ai.onnxruntime.OnnxJavaType;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import org.HdrHistogram.Histogram;

/** The baseline: {@code OrtSession.run} on tensors in direct memory, and nothing else. */
final class RawSession implements AutoCloseable {
    private final OrtEnvironment environment;
    private final OrtSession session;
    private final Map<String, ByteBuffer> memory = new LinkedHashMap<>();
    private final Case testCase;

    /** Requires that a backend was opened before, since that creates the ONNX Runtime environment. */
    RawSession(byte[] onnx, Case testCase) throws OrtException {
        this.environment = OrtEnvironment.getEnvironment();
        this.testCase = testCase;
        try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
            options.setIntraOpNumThreads(1);
            options.setInterOpNumThreads(1);
            options.addConfigEntry("session.intra_op.allow_spinning", "0");
            this.session = environment.createSession(onnx, options);
        }
        for (Case.Input input : testCase.inputs()) {
            memory.put(
                    input.name(),
                    ByteBuffer.allocateDirect(input.raw().length)
                            .put(input.raw())
                            .flip());
        }
    }

    void run(Histogram nanos, long endNanos) throws OrtException {
        long begun = System.nanoTime();
        while (begun - endNanos < 0) {
            once();
            long now = System.nanoTime();
            Latency.record(nanos, now - begun);
            begun = now;
        }
    }

    /** Creates the tensors, runs the model, and closes tensors and result. */
    void once() throws OrtException {
        Map<String, OnnxTensor> feed = new LinkedHashMap<>();
        try {
            for (Case.Input input : testCase.inputs()) {
                feed.put(
                        input.name(),
                        OnnxTensor.createTensor(
                                environment,
                                memory.get(input.name()),
                                input.shape().toArray(),
                                type(input)));
            }
            session.run(feed).close();
        } finally {
            feed.values().forEach(OnnxTensor::close);
        }
    }

    private static OnnxJavaType type(Case.Input input) {
        return switch (input.type()) {
            case FP32 -> OnnxJavaType.FLOAT;
            case INT32 -> OnnxJavaType.INT32;
            case INT64 -> OnnxJavaType.INT64;
            default -> throw new IllegalArgumentException(input.type().toString());
        };
    }

    @Override
    public void close() throws OrtException {
        session.close();
    }
}
