package dev.isthmus.local.ort;

import ai.onnxruntime.OrtEnvironment;
import dev.isthmus.local.repository.ModelSettings;
import dev.isthmus.local.repository.ModelSource;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.proto.onnx.GraphProto;
import dev.isthmus.proto.onnx.ModelProto;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tests whether the calls that bypass ONNX Runtime's Java API work with the installed library: identity models must
 * return tensors byte for byte for each way of handling outputs, and an invalid run must fail. The library's version is
 * checked first, because an older one lacks functions.
 */
final class SelfTest {
    private static final Logger LOG = LoggerFactory.getLogger(SelfTest.class);
    private static final ByteBufAllocator ALLOCATOR = UnpooledByteBufAllocator.DEFAULT;
    private static final int IR_VERSION = 8;
    private static final int OPSET = 17;
    private static final int PAIR = 2;

    /** Elements with their lengths: an emoji, text with a NUL, bytes that are not UTF-8, an empty element. */
    private static final byte[] STRINGS =
            HexFormat.of().parseHex("04000000f09f988003000000610062" + "02000000fffe" + "00000000");

    private static final int STRING_COUNT = 4;

    private final OrtRuntime runtime;

    private SelfTest(OrtRuntime runtime) {
        this.runtime = runtime;
    }

    /** Runs the test and logs a failure. */
    static boolean passed(OrtEnvironment environment) {
        String version = environment.getVersion();
        if (!supports(version)) {
            LOG.error("ONNX Runtime 1.{} or a later 1.x is required, got {}", OrtApi.SINCE_MINOR, version);
            return false;
        }
        try {
            new SelfTest(new OrtRuntime(environment, true)).run();
            return true;
        } catch (RuntimeException | LinkageError e) {
            LOG.error("ONNX Runtime {} is not compatible with 1.29: no model can be run", version, e);
            return false;
        }
    }

    /** Whether the C API of this version has the functions that are called, at the same indices. */
    static boolean supports(String version) {
        String[] parts = version.split("\\.", -1);
        return parts.length > 1
                && parts[0].equals("1")
                && parts[1].matches("\\d{1,4}")
                && Integer.parseInt(parts[1]) >= OrtApi.SINCE_MINOR;
    }

    private void run() {
        require("preallocated", DataType.FP32, PAIR, bits(PAIR, DataType.FP32), PAIR);
        require("copied", DataType.UINT16, -1, bits(PAIR, DataType.UINT16), PAIR);
        require("in place", DataType.INT64, -1, bits(OutputBinding.SMALL, DataType.INT64), OutputBinding.SMALL);
        require("as strings", DataType.BYTES, -1, STRINGS, STRING_COUNT);
        requireRefusal();
    }

    /** All bits of the first element are set, so that an unsigned type mistaken for a signed one shows. */
    private static byte[] bits(int count, DataType type) {
        byte[] bits = new byte[count * type.size()];
        for (int i = 0; i < bits.length; i++) {
            bits[i] = (byte) (i < type.size() ? 0xff : i);
        }
        return bits;
    }

    private void require(String what, DataType type, long extent, byte[] given, int elements) {
        OnnxModel model = identity(type, extent);
        try {
            List<Tensor> outputs = run(model, type, given, elements);
            try {
                ByteBuffer back = outputs.getFirst().data().nioBuffer();
                if (!back.equals(ByteBuffer.wrap(given))) {
                    throw new IllegalStateException(type + " " + what + ": the output differs from the input");
                }
            } finally {
                outputs.forEach(Tensor::release);
            }
        } finally {
            model.release();
        }
    }

    private void requireRefusal() {
        OnnxModel model = identity(DataType.FP32, PAIR);
        try {
            run(model, DataType.FP32, bits(PAIR + 1, DataType.FP32), PAIR + 1).forEach(Tensor::release);
        } catch (OipException expected) {
            if (expected.code() == ErrorCode.INVALID_ARGUMENT) {
                return;
            }
            throw expected;
        } finally {
            model.release();
        }
        throw new IllegalStateException("a tensor of a wrong shape was accepted");
    }

    private static List<Tensor> run(OnnxModel model, DataType type, byte[] given, int elements) {
        ByteBuf data = Unpooled.directBuffer(given.length).writeBytes(given);
        Tensor input = new Tensor("x", type, Shape.of(elements), Map.of(), data);
        InferRequest request = new InferRequest(ModelRef.of("self-test"), "", Map.of(), List.of(input), List.of());
        try (RunHandle handle = new RunHandle()) {
            return model.run(request, handle, ALLOCATOR);
        } finally {
            request.release();
        }
    }

    private OnnxModel identity(DataType type, long extent) {
        GraphProto graph = GraphProto.newBuilder()
                .setName("identity")
                .addNode(OnnxProto.node("Identity", "y", "x"))
                .addInput(OnnxProto.value("x", type, extent))
                .addOutput(OnnxProto.value("y", type, extent))
                .build();
        byte[] model = ModelProto.newBuilder()
                .setIrVersion(IR_VERSION)
                .setGraph(graph)
                .addOpsetImport(OnnxProto.opset(OPSET))
                .build()
                .toByteArray();
        return OnnxModel.load(
                new ModelSource("self-test", "1", ModelSettings.DEFAULT, () -> model, List.of()), "cpu", runtime);
    }
}
