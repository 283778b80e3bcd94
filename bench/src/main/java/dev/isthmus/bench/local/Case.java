package dev.isthmus.bench.local;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** A model with the inputs of a request, the same for all clients. */
record Case(String model, List<Input> inputs) {
    private static final long SEED = 25;

    /**
     * An input.
     *
     * @param raw little-endian
     */
    @SuppressWarnings("ArrayRecordComponent") // inputs are not compared
    record Input(String name, DataType type, Shape shape, byte[] raw) {}

    static final Case DIGITS = new Case("digits", List.of(floats("image", 1, 64)));
    static final Case SILERO = new Case(
            "silero_vad",
            List.of(
                    floats("input", 1, 576),
                    floats("state", 2, 1, 128),
                    new Input("sr", DataType.INT64, Shape.SCALAR, rate())));
    static final Case CLASSIFIER = new Case("ppocr_cls", List.of(floats("x", 1, 3, 48, 192)));
    static final Case MAGIKA = new Case("magika", List.of(bytes("bytes", 2048)));
    static final Case MEBIBYTE = new Case("identity_fp32", List.of(floats("INPUT0", 512, 512)));

    static final List<Case> ALL = List.of(DIGITS, SILERO, CLASSIFIER, MAGIKA, MEBIBYTE);

    /** Numbers from 0 to 1. */
    static Input floats(String name, long... shape) {
        SplittableRandom random = new SplittableRandom(SEED);
        int count = Math.toIntExact(Shape.of(shape).elementCount());
        ByteBuf raw = Unpooled.buffer(4 * count, 4 * count);
        for (int i = 0; i < count; i++) {
            raw.writeFloatLE((float) random.nextDouble());
        }
        return new Input(name, DataType.FP32, Shape.of(shape), raw.array());
    }

    /** The bytes of a file, each as an INT32. */
    private static Input bytes(String name, int count) {
        SplittableRandom random = new SplittableRandom(SEED);
        ByteBuf raw = Unpooled.buffer(4 * count, 4 * count);
        for (int i = 0; i < count; i++) {
            raw.writeIntLE(random.nextInt(256));
        }
        return new Input(name, DataType.INT32, Shape.of(1, count), raw.array());
    }

    private static byte[] rate() {
        return Unpooled.buffer(8, 8).writeLongLE(16_000).array();
    }

    /** A request with tensors in direct memory, as if received from a network. The caller owns it. */
    InferRequest request() {
        List<Tensor> tensors = new ArrayList<>();
        for (Input input : inputs) {
            ByteBuf data = Unpooled.directBuffer(input.raw().length).writeBytes(input.raw());
            tensors.add(new Tensor(input.name(), input.type(), input.shape(), Map.of(), data));
        }
        return new InferRequest(ModelRef.of(model), "", Map.of(), tensors, List.of());
    }
}
