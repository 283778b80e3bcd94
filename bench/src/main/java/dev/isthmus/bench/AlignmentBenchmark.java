package dev.isthmus.bench;

import dev.isthmus.gateway.memory.BufferAllocators;
import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.local.ort.RunHandle;
import dev.isthmus.local.repository.ModelSettings;
import dev.isthmus.local.repository.ModelSource;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Runs an identity model of FP32 on an input at an aligned address, which is read in place, and at another one, which is
 * copied. To be started in the root of the repository.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 8, time = 1)
@Fork(1)
public class AlignmentBenchmark {
    private static final Path MODEL = Path.of("local-backend/src/test/resources/models/identity_fp32/1/model.onnx");

    /** A few numbers, and an image of 3 x 224 x 224. */
    @Param({"256", "602112"})
    private int bytes;

    /** Bytes behind an aligned address. */
    @Param({"0", "37"})
    private int offset;

    private OnnxModel model = load();
    private RunHandle handle = new RunHandle();
    private InferRequest request = new InferRequest(ModelRef.of("m"), "", Map.of(), List.of(), List.of());

    private static OnnxModel load() {
        try {
            byte[] onnx = Files.readAllBytes(MODEL);
            ModelSource source = new ModelSource("m", "1", ModelSettings.DEFAULT, () -> onnx, List.of());
            return OnnxModel.load(source, "cpu");
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @Setup
    public void setup() {
        ByteBuf data = OnnxModel.inputBuffer(BufferAllocators.shared(), offset + bytes);
        data.writeZero(offset).skipBytes(offset).writeZero(bytes);
        Shape shape = Shape.of(1, bytes / Float.BYTES);
        Tensor input = new Tensor("INPUT0", DataType.FP32, shape, Map.of(), data);
        request = new InferRequest(ModelRef.of("m"), "", Map.of(), List.of(input), List.of());
    }

    @TearDown
    public void close() {
        request.release();
        handle.close();
        model.release();
    }

    @Benchmark
    public void run() {
        model.run(request, handle, BufferAllocators.shared()).forEach(Tensor::release);
    }
}
