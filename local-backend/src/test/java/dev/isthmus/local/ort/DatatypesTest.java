package dev.isthmus.local.ort;

import static dev.isthmus.local.ort.Fixtures.elements;
import static dev.isthmus.local.ort.Fixtures.floats;
import static dev.isthmus.local.ort.Fixtures.load;
import static dev.isthmus.local.ort.Fixtures.longs;
import static dev.isthmus.local.ort.Fixtures.request;
import static dev.isthmus.local.ort.Fixtures.run;
import static dev.isthmus.local.ort.Fixtures.tensor;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Inputs and outputs of models, byte for byte: datatypes, shapes, and types that the protocol does not have. */
class DatatypesTest {
    private static final byte[][] ODD_STRINGS = {
        "\uD83D\uDE00".getBytes(StandardCharsets.UTF_8),
        {'a', 0, 'b'},
        {(byte) 0xff, (byte) 0xfe},
        {},
        {0},
        {(byte) 0xed, (byte) 0xa0, (byte) 0x80}
    };

    private static byte[] raw(DataType type) {
        byte[] raw = new byte[6 * type.size()];
        new SplittableRandom(type.size() + 7).nextBytes(raw);
        return switch (type) {
            case BOOL -> new byte[] {0, 1, 1, 0, 0, 1};
            case BYTES -> elements(ODD_STRINGS);
            default -> raw;
        };
    }

    private static String identity(DataType type) {
        return "identity_" + type.name().toLowerCase(Locale.ROOT);
    }

    private static void assertIdentity(OnnxModel model, InferRequest request, DataType type) {
        List<Tensor> outputs = run(model, request);
        assertThat(outputs).singleElement().satisfies(output -> {
            assertThat(output.name()).isEqualTo("OUTPUT0");
            assertThat(output.dataType()).isEqualTo(type);
            assertThat(output.shape()).isEqualTo(Shape.of(2, 3));
            assertThat(ByteBufUtil.getBytes(output.data())).isEqualTo(raw(type));
        });
        outputs.forEach(Tensor::release);
    }

    @ParameterizedTest
    @EnumSource(DataType.class)
    void datatype_comesBackByteForByte(DataType type) {
        OnnxModel model = load(identity(type));
        assertIdentity(model, request(tensor("INPUT0", type, raw(type), 2, 3)), type);
        model.release();
    }

    @ParameterizedTest
    @EnumSource(DataType.class)
    void datatype_inPartsOnTheHeap_comesBackByteForByte(DataType type) {
        byte[] raw = raw(type);
        CompositeByteBuf parts = Fixtures.ALLOCATOR.compositeBuffer();
        parts.addComponent(true, Fixtures.ALLOCATOR.buffer().writeBytes(raw, 0, 5));
        parts.addComponent(true, Unpooled.copiedBuffer(raw, 5, raw.length - 5));
        OnnxModel model = load(identity(type));
        assertIdentity(model, request(tensor("INPUT0", type, parts, 2, 3)), type);
        assertThat(model.copies().gathered()).isEqualTo(raw.length);
        model.release();
    }

    @Test
    void strings_reachTheModelAsTheyAre() {
        OnnxModel model = load("strings");
        List<Tensor> outputs = run(
                model,
                request(
                        tensor("left", DataType.BYTES, elements("a", "\uD83D\uDE00", "\u00e9\u4e2d", "", "?"), 5),
                        tensor("right", DataType.BYTES, elements("\0", "\uD83D\uDE00", "", "", "b"), 5)));
        assertThat(outputs.stream().map(Tensor::name)).containsExactly("joined", "code", "back");
        assertThat(ByteBufUtil.getBytes(outputs.get(0).data()))
                .isEqualTo(elements("a\0", "\uD83D\uDE00\uD83D\uDE00", "\u00e9\u4e2d", "", "?b"));
        ByteBuf codes = outputs.get(1).data();
        assertThat(List.of(codes.getLongLE(0), codes.getLongLE(8), codes.getLongLE(16), codes.getLongLE(24)))
                .containsExactly(0L, 1L, 2L, 3L);
        assertThat(codes.getLongLE(32)).isEqualTo(-1);
        assertThat(ByteBufUtil.getBytes(outputs.get(2).data()))
                .isEqualTo(elements("a", "\uD83D\uDE00", "\u00e9\u4e2d", "", "?"));
        outputs.forEach(Tensor::release);
        model.release();
    }

    @Test
    void bytesThatAreNoText_areJoinedAsTheyAre() {
        OnnxModel model = load("strings");
        List<Tensor> outputs = run(
                model,
                request(
                        List.of("joined"),
                        tensor("left", DataType.BYTES, elements(new byte[] {(byte) 0xff, 0}), 1),
                        tensor("right", DataType.BYTES, elements(new byte[] {(byte) 0xfe}), 1)));
        assertThat(ByteBufUtil.getBytes(outputs.get(0).data()))
                .isEqualTo(elements(new byte[] {(byte) 0xff, 0, (byte) 0xfe}));
        outputs.forEach(Tensor::release);
        model.release();
    }

    @ParameterizedTest
    @CsvSource({"iris,'[\"setosa\",\"versicolor\",\"virginica\"]'", "iris_int,'[0,1,2]'"})
    void maps_areATensorWithLabels(String name, String labels) {
        OnnxModel model = load(name);
        assertThat(model.outputs().get(1)).satisfies(probability -> {
            assertThat(probability.name()).isEqualTo("output_probability");
            assertThat(probability.dataType()).isEqualTo("FP32");
            assertThat(probability.shape()).isEqualTo(Shape.of(-1, 3));
            assertThat(probability.parameters()).containsEntry("labels", new Parameter.Text(labels));
        });
        float[] flowers = {5.1f, 3.5f, 1.4f, 0.2f, 6.3f, 3.3f, 6f, 2.5f};
        List<Tensor> outputs = run(model, request(floats("X", flowers, 2, 4)));
        assertThat(outputs.get(1).shape()).isEqualTo(Shape.of(2, 3));
        ByteBuf scores = outputs.get(1).data();
        assertThat(scores.getFloatLE(0)).isCloseTo(0.98f, within(0.02f));
        assertThat(scores.getFloatLE(20)).isGreaterThan(0.9f);
        outputs.forEach(Tensor::release);
        model.release();
    }

    @Test
    void scalars_haveNoExtents() {
        OnnxModel model = load("scalar");
        List<Tensor> outputs = run(model, request(floats("x", new float[] {1.5f}), longs("times", new long[] {4})));
        assertThat(outputs.get(0).shape()).isEqualTo(Shape.SCALAR);
        assertThat(outputs.get(0).data().getFloatLE(0)).isEqualTo(6f);
        outputs.forEach(Tensor::release);
        model.release();
    }

    @ParameterizedTest
    @EnumSource(
            value = DataType.class,
            names = {"FP32", "BYTES", "UINT64"})
    void noElements_areTaken(DataType type) {
        OnnxModel model = load(identity(type));
        List<Tensor> outputs = run(model, request(tensor("INPUT0", type, new byte[0], 0, 16)));
        assertThat(outputs.get(0).shape()).isEqualTo(Shape.of(0, 16));
        assertThat(outputs.get(0).data().readableBytes()).isZero();
        outputs.forEach(Tensor::release);
        model.release();
    }

    @Test
    void noElements_ofAKnownShape_areTaken() {
        OnnxModel model = load("large");
        List<Tensor> outputs = run(model, request(floats("x", new float[0], 0)));
        assertThat(outputs.get(0).shape()).isEqualTo(Shape.of(0));
        outputs.forEach(Tensor::release);
        model.release();
    }

    @Test
    void shapesThatTheValuesDecide_areTakenAsTheyCome() {
        OnnxModel model = load("nonzero");
        List<Tensor> outputs = run(model, request(floats("x", new float[] {0, 1, 0, 2, 3, 0}, 2, 3)));
        assertThat(outputs.get(0).shape()).isEqualTo(Shape.of(2, 3));
        assertThat(outputs.get(0).data().getLongLE(16)).isEqualTo(1);
        outputs.forEach(Tensor::release);
        outputs = run(model, request(floats("x", new float[] {0, 0}, 1, 2)));
        assertThat(outputs.get(0).shape()).isEqualTo(Shape.of(2, 0));
        outputs.forEach(Tensor::release);
        model.release();
    }

    @ParameterizedTest
    @CsvSource({
        "sequence,output 'parts' is not a tensor but",
        "optional,'it has an operator, input or output that this ONNX Runtime does not support'",
        "float8,output 'y' is a tensor of ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN"
    })
    void whatV2HasNoWordFor_isRefusedByName(String name, String reason) {
        assertThatThrownBy(() -> load(name)).isInstanceOf(OipException.class).hasMessageContaining(reason);
    }

    @Test
    void runtimeThatFailsItsSelfTest_loadsNoModel() {
        OrtRuntime poor = new OrtRuntime(OrtRuntime.get().environment(), false);
        assertThatThrownBy(() -> OnnxModel.load(Fixtures.source("identity_fp32"), "cpu", poor))
                .isInstanceOf(OipException.class)
                .hasMessageContaining("supports ONNX Runtime 1.29; the installed 1.29.0 failed the self-test");
    }

    @Test
    void runtimeOfThisVersion_passesItsSelfTest() {
        assertThat(OrtRuntime.get().usable()).isTrue();
        assertThat(OrtRuntime.get().version()).isEqualTo("1.29.0");
    }

    @Test
    void runtimeWithoutTheFunctions_isNotTried() {
        assertThat(List.of("1.23.2", "2.0.0", "0.29.1", "1", "", "1.x.0")).noneMatch(SelfTest::supports);
        assertThat(List.of("1.24.0", "1.29.0", "1.31.1")).allMatch(SelfTest::supports);
    }
}
