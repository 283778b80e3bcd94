package dev.isthmus.local.run;

import dev.isthmus.local.call.Cancellable;
import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.local.repository.ModelSettings;
import dev.isthmus.local.repository.ModelSource;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Models and requests for tests of runs. */
final class Runs {
    /** A loop count of the model 'turns' that does not end within a test. */
    static final long ENDLESS = Long.MAX_VALUE;

    private Runs() {}

    static ModelSettings settings(int maxBatchSize, @Nullable Duration maxQueueDelay, int instances) {
        ModelSettings plain = ModelSettings.DEFAULT;
        return new ModelSettings(
                plain.versions(),
                maxBatchSize,
                maxQueueDelay,
                instances,
                null,
                1,
                null,
                plain.inputs(),
                plain.outputs(),
                false,
                Map.of());
    }

    static ModelSettings batches(int maxBatchSize) {
        return settings(maxBatchSize, Duration.ZERO, 0);
    }

    static ModelSettings instances(int instances) {
        return settings(0, Duration.ZERO, instances);
    }

    static OnnxModel model(String name, ModelSettings settings) {
        Path file = Path.of("src/test/resources/execution", name + ".onnx");
        if (!Files.exists(file)) {
            file = Path.of("src/main/resources/models", name, "1/model.onnx");
        }
        Path found = Files.exists(file) ? file : Path.of("src/test/resources/models", name, "1/model.onnx");
        return OnnxModel.load(new ModelSource(name, "1", settings, () -> bytes(found), List.of()), "cpu");
    }

    /** Whether all references but one have been released. */
    static boolean unused(OnnxModel model) {
        boolean used = model.retain();
        if (used) {
            model.release();
        }
        return !used;
    }

    private static byte[] bytes(Path file) {
        try {
            return Files.readAllBytes(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A request for the model 'turns' with a row for each count. */
    static InferRequest turns(long... counts) {
        return turns(List.of(), counts);
    }

    static InferRequest turns(List<String> outputs, long... counts) {
        // On the heap, so that the run gathers it: see Outcome.begun.
        ByteBuf data = Unpooled.buffer(8 * counts.length);
        for (long count : counts) {
            data.writeLongLE(count);
        }
        Tensor input = new Tensor("COUNT", DataType.INT64, Shape.of(counts.length, 1), Map.of(), data);
        return request("turns", List.of(input), outputs);
    }

    static InferRequest request(String model, List<Tensor> inputs, List<String> outputs) {
        List<RequestedOutput> wanted = outputs.stream()
                .map(output -> new RequestedOutput(output, Map.of()))
                .toList();
        return new InferRequest(ModelRef.of(model), "id", Map.of(), inputs, wanted);
    }

    static Tensor floats(String name, Shape shape, float... values) {
        ByteBuf data = ByteBufAllocator.DEFAULT.directBuffer();
        for (float value : values) {
            data.writeFloatLE(value);
        }
        return new Tensor(name, DataType.FP32, shape, Map.of(), data);
    }

    /** A request for the model 'simple': 16 times this number and its double. */
    static InferRequest simple(int number) {
        return request("simple", List.of(sixteen("INPUT0", number), sixteen("INPUT1", 2 * number)), List.of());
    }

    private static Tensor sixteen(String name, int number) {
        ByteBuf data = ByteBufAllocator.DEFAULT.directBuffer();
        for (int i = 0; i < 16; i++) {
            data.writeIntLE(number);
        }
        return new Tensor(name, DataType.INT32, Shape.of(1, 16), Map.of(), data);
    }

    /** Submits a request with a reference to the model. */
    static Outcome submit(LocalExecutor executor, OnnxModel model, InferRequest request) {
        return submit(executor, model, request, Long.MAX_VALUE);
    }

    static Outcome submit(LocalExecutor executor, OnnxModel model, InferRequest request, long deadlineNanos) {
        Outcome outcome = new Outcome(request);
        if (!model.retain()) {
            throw new IllegalStateException("the model is closed");
        }
        Cancellable run = executor.submit(model, request, deadlineNanos, outcome.allocator(), outcome);
        return outcome.of(run);
    }

    static long[] longs(Tensor tensor) {
        long[] values = new long[tensor.data().readableBytes() / 8];
        Arrays.setAll(values, i -> tensor.data().getLongLE(tensor.data().readerIndex() + 8 * i));
        return values;
    }
}
