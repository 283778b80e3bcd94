package dev.isthmus.local.ort;

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
import io.netty.buffer.PooledByteBufAllocator;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** The tests' models and requests. */
final class Fixtures {
    static final ByteBufAllocator ALLOCATOR = PooledByteBufAllocator.DEFAULT;
    private static final Path MODELS = Path.of("src/test/resources/models");

    private Fixtures() {}

    static ModelSource source(String name) {
        return source(name, MODELS.resolve(name).resolve("1/model.onnx"));
    }

    static ModelSource source(String name, Path file) {
        return new ModelSource(name, "1", ModelSettings.DEFAULT, () -> read(file), List.of());
    }

    static OnnxModel load(String name) {
        return OnnxModel.load(source(name), "cpu");
    }

    private static byte[] read(Path file) {
        try {
            return Files.readAllBytes(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A buffer whose readable bytes begin so many bytes behind an aligned address. */
    static ByteBuf aligned(int offset, byte[] raw) {
        ByteBuf data = NativeMemory.allocate(ALLOCATOR, offset + raw.length);
        return data.writeZero(offset).skipBytes(offset).writeBytes(raw);
    }

    static Tensor tensor(String name, DataType type, ByteBuf data, long... shape) {
        return new Tensor(name, type, Shape.of(shape), Map.of(), data);
    }

    static Tensor tensor(String name, DataType type, byte[] raw, long... shape) {
        return tensor(name, type, ALLOCATOR.directBuffer().writeBytes(raw), shape);
    }

    static Tensor floats(String name, float[] values, long... shape) {
        ByteBuf data = ALLOCATOR.directBuffer();
        for (float value : values) {
            data.writeFloatLE(value);
        }
        return tensor(name, DataType.FP32, data, shape);
    }

    static Tensor longs(String name, long[] values, long... shape) {
        ByteBuf data = ALLOCATOR.directBuffer();
        for (long value : values) {
            data.writeLongLE(value);
        }
        return tensor(name, DataType.INT64, data, shape);
    }

    /** BYTES elements. */
    static byte[] elements(byte[]... elements) {
        ByteBuf data = ALLOCATOR.buffer();
        for (byte[] element : elements) {
            data.writeIntLE(element.length).writeBytes(element);
        }
        byte[] raw = new byte[data.readableBytes()];
        data.readBytes(raw).release();
        return raw;
    }

    static byte[] elements(String... elements) {
        return elements(Arrays.stream(elements)
                .map(each -> each.getBytes(StandardCharsets.UTF_8))
                .toArray(byte[][]::new));
    }

    static InferRequest request(Tensor... inputs) {
        return new InferRequest(ModelRef.of("m"), "", Map.of(), List.of(inputs), List.of());
    }

    static InferRequest request(List<String> outputs, Tensor... inputs) {
        return new InferRequest(
                ModelRef.of("m"),
                "",
                Map.of(),
                List.of(inputs),
                outputs.stream()
                        .map(name -> new RequestedOutput(name, Map.of()))
                        .toList());
    }

    /** Checks and runs a request, which is taken. */
    static List<Tensor> run(OnnxModel model, InferRequest request) {
        try (RunHandle handle = new RunHandle()) {
            model.require(request);
            return model.run(request, handle, ALLOCATOR);
        } finally {
            request.release();
        }
    }
}
